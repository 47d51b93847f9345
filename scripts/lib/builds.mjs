import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { readFileIfAny } from './files.mjs';
import { ROOT } from './paths.mjs';
import { run } from './processes.mjs';
import { UserError } from './steps.mjs';

const LOCK = 'package-lock.json';
/** In the folder that a build writes. */
const STAMP = '.sources';
/** A build writes beside its output and takes its place when it is whole, so that a running service misses no file. */
const NEXT = '.next';

export const SERVICE = {
  name: 'service',
  output: 'dist',
  product: 'main.js',
  inputs: [
    LOCK,
    'nest-cli.json',
    'rolldown.config.mjs',
    'scripts/lib/bundle-loader.mjs',
    'tsconfig.json',
    'tsconfig.build.json',
    'tsconfig.release.json',
    'src',
  ],
  commands: [
    ['node_modules/@nestjs/cli/bin/nest.js', 'build', '--path', 'tsconfig.release.json'],
    ['node_modules/rolldown/bin/cli.mjs', '--config'],
  ],
};
/** The client library is built into the console from its sources. */
export const CONSOLE = {
  name: 'console',
  output: 'console/dist',
  product: 'index.html',
  inputs: [
    LOCK,
    ...[
      'index.html',
      'package.json',
      'precompress.ts',
      'public',
      'service-worker',
      'shared.html',
      'src',
      'tsconfig.json',
      'vite.config.ts',
    ].map((name) => `console/${name}`),
    'sdk/src',
  ],
  commands: [
    [
      'node_modules/vite/bin/vite.js',
      'build',
      'console',
      '--outDir',
      `dist${NEXT}`,
      '--emptyOutDir',
      '--logLevel',
      'warn',
    ],
  ],
};

/** Builds what has changed since it was built, or everything. @returns {Promise<string>} what was done */
export async function buildAll({ always = false } = {}) {
  const built = (await Promise.all([SERVICE, CONSOLE].map((part) => build(part, always)))).filter(Boolean);
  return built.length > 0 ? built.join(' and ') : 'up to date';
}

/** Makes the next `buildAll` build the console, for one that writes the same folder with other settings. */
export function forgetConsoleBuild() {
  rmSync(join(ROOT, CONSOLE.output, STAMP), { force: true });
}

/**
 * What was built is known by the content of the sources and not by times, which an interrupted build or another
 * branch checked out would make misleading.
 */
async function build({ name, output, product, inputs, commands }, always) {
  const fingerprint = fingerprintOf(inputs);
  const stamp = join(ROOT, output, STAMP);
  const isCurrent = existsSync(join(ROOT, output, product)) && readFileIfAny(stamp) === fingerprint;
  if (isCurrent && !always) return null;
  // Vite builds for development where NODE_ENV says so.
  const env = { ...process.env, NODE_ENV: 'production' };
  for (const command of commands) {
    const result = await run(process.execPath, command, { cwd: ROOT, env });
    if (result.code !== 0) throw new UserError(`The build of the ${name} failed:\n${result.output.trim()}`);
  }
  writeFileSync(join(ROOT, output + NEXT, STAMP), fingerprint);
  replaceFolder(join(ROOT, output), join(ROOT, output + NEXT));
  return name;
}

export function replaceFolder(folder, next) {
  const old = `${folder}.old`;
  rmSync(old, { recursive: true, force: true });
  if (existsSync(folder)) renameSync(folder, old);
  renameSync(next, folder);
  rmSync(old, { recursive: true, force: true });
}

function fingerprintOf(inputs) {
  const hash = createHash('sha256');
  for (const file of inputs.flatMap((input) => filesOf(join(ROOT, input)))) {
    hash.update(file.slice(ROOT.length)).update('\0').update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}

function filesOf(path) {
  if (statSync(path).isFile()) return [path];
  const entries = readdirSync(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.spec.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}
