import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { DATA } from './paths.mjs';
import { findCommand, run } from './processes.mjs';

const FOLDER = join(DATA, 'binaries', 'prometheus');
const LIMIT_MS = 180_000;

/**
 * Prometheus and promtool, for the tests of docker/monitoring: those of this machine, or those of Debian's package (19 MB),
 * unpacked into a folder of its own, because its installation would start a server.
 * @returns {Promise<{ prometheus?: string, promtool?: string, problem?: string }>}
 */
export async function installPrometheus() {
  const [prometheus, promtool] = ['prometheus', 'promtool'].map(findCommand);
  if (prometheus && promtool) return { prometheus, promtool };
  const unpacked = (name) => join(FOLDER, 'usr', 'bin', name);
  const isUnpacked = () => existsSync(unpacked('promtool'));
  const problem = isUnpacked() ? null : await unpackPackage();
  if (!isUnpacked()) return { problem: problem ?? 'the package prometheus has no promtool' };
  return { prometheus: unpacked('prometheus'), promtool: unpacked('promtool') };
}

/** @returns {Promise<string | null>} why it could not be had */
async function unpackPackage() {
  if (!findCommand('apt-get') || !findCommand('dpkg-deb')) return 'prometheus comes from apt, which is not here';
  mkdirSync(FOLDER, { recursive: true });
  const download = () => run('apt-get', ['download', '-q', 'prometheus'], { cwd: FOLDER, timeLimitMs: LIMIT_MS });
  let { code, output } = await download();
  if (code !== 0) {
    // The lists may be missing or old; without the right to fetch them the second attempt says the same again.
    await run('apt-get', ['update', '-q'], { timeLimitMs: LIMIT_MS });
    ({ code, output } = await download());
  }
  const file = readdirSync(FOLDER).find((name) => name.endsWith('.deb'));
  if (code !== 0 || !file) return `apt could not download prometheus: ${output.trim().split('\n').at(-1)}`;
  const unpack = await run('dpkg-deb', ['-x', join(FOLDER, file), FOLDER], { timeLimitMs: LIMIT_MS });
  return unpack.code === 0 ? null : `dpkg could not unpack prometheus: ${unpack.output.trim().split('\n').at(-1)}`;
}
