import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT } from '../../scripts/lib/paths.mjs';
import { run } from '../../scripts/lib/processes.mjs';
import { UserError } from '../../scripts/lib/steps.mjs';

/** The last release, for clones without tags. */
const LAST = { tag: 'v0.1.0', commit: '2e1c0b9f6e066e712a0b264a7516a4108a1de763' };

const git = (...args) =>
  execFileSync('git', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] })
    .toString()
    .trim();

/** The last tag before this commit. @returns {{ name: string, commit: string }} */
export function lastRelease() {
  try {
    const name = git('describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD');
    return { name, commit: git('rev-parse', `${name}^{commit}`) };
  } catch {
    return { name: LAST.tag, commit: LAST.commit };
  }
}

/** Builds the service of a commit in a folder. The console is left out: nobody looks at it here. */
export async function buildRelease(commit, folder) {
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['--extract', '--directory', folder], {
    input: execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 1e9 }),
  });
  const lockOf = (root) => readFileSync(join(root, 'package-lock.json'), 'utf8');
  if (lockOf(folder) === lockOf(ROOT)) symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  else await command(folder, 'npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
  await command(folder, process.execPath, ['scripts/build.mjs']);
}

async function command(cwd, name, args) {
  const { code, output } = await run(name, args, { cwd, env: process.env });
  if (code !== 0) throw new UserError(`${name} ${args.join(' ')} failed:\n${output.trim()}`);
}
