import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/** Where settings of the user are (XDG Base Directory; on Windows the folders that it has for this). */
export function configFolder(): string {
  const { XDG_CONFIG_HOME, APPDATA } = process.env;
  return join(absolute(XDG_CONFIG_HOME) ?? absolute(APPDATA) ?? join(homedir(), '.config'), 'vnotes');
}

/** Where the program notes what it has done, so that it can go on. */
export function stateFolder(): string {
  const { XDG_STATE_HOME, LOCALAPPDATA } = process.env;
  return join(absolute(XDG_STATE_HOME) ?? absolute(LOCALAPPDATA) ?? join(homedir(), '.local', 'state'), 'vnotes');
}

/** Replaces the file in one step, readable by its owner alone. A process that is killed leaves the old or the new one. */
export async function writePrivately(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** A relative path in these variables is invalid and ignored, as their specification says. */
function absolute(path: string | undefined): string | null {
  return path !== undefined && /^(\/|[A-Za-z]:[\\/])/.test(path) ? path : null;
}
