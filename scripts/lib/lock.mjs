import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

import { readFileIfAny } from './files.mjs';
import { identityOf } from './processes.mjs';

/**
 * Takes a lock that belongs to this process and ends with it, however it ends.
 * @returns {{ release: () => void } | { holder: number }} the pid of the process that has it, when it is taken
 */
export function acquireLock(file) {
  mkdirSync(dirname(file), { recursive: true });
  const own = `${file}.${process.pid}`;
  writeFileSync(own, identityOf(process.pid), { mode: 0o600 });
  try {
    for (;;) {
      if (linkUnlessThere(own, file)) return { release: () => rmSync(file, { force: true }) };
      const seen = readFileIfAny(file);
      const holder = Number(seen?.split(' ')[0]);
      if (holder && identityOf(holder) === seen) return { holder };
      if (seen !== null) removeStale(file, seen);
    }
  } finally {
    rmSync(own, { force: true });
  }
}

/** A link appears with its content at once; a file that is created and then written does not. */
function linkUnlessThere(own, file) {
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Two processes may see the same stale lock: who moved away a newer one puts it back. */
function removeStale(file, seen) {
  const aside = `${file}.stale.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  if (readFileIfAny(aside) !== seen) linkUnlessThere(aside, file);
  rmSync(aside, { force: true });
}
