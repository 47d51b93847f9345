import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CliError } from '../cli-error.js';
import { configFolder, writePrivately } from './folders.js';

export interface Profile {
  url: string;
  key: string;
  secret: string;
  /** Id and name of the account, if the key could ask for them. */
  account?: string | undefined;
  account_name?: string | undefined;
}

export interface Profiles {
  /** The one that is used without `--profile`. */
  current: string | null;
  profiles: Record<string, Profile>;
}

export function profileFile(): string {
  return join(configFolder(), 'profiles.json');
}

export async function readProfiles(): Promise<Profiles> {
  const text = await readFile(profileFile(), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new CliError(`${profileFile()} cannot be read: ${error.message}.`);
  });
  if (text === null) return { current: null, profiles: {} };
  try {
    const { current, profiles } = JSON.parse(text) as Profiles;
    // Without a prototype: a profile may have any name.
    return { current, profiles: Object.assign(Object.create(null) as Profiles['profiles'], profiles) };
  } catch {
    throw new CliError(`${profileFile()} is not JSON. Mend or delete it, then sign in again: vnotes login`);
  }
}

export async function writeProfiles(profiles: Profiles): Promise<void> {
  await writePrivately(profileFile(), `${JSON.stringify(profiles, null, 2)}\n`);
}

/** Whether others can read the secrets in it. Windows has no such modes. */
export async function isExposed(): Promise<boolean> {
  if (process.platform === 'win32') return false;
  const found = await stat(profileFile()).catch(() => null);
  return found !== null && (found.mode & 0o077) !== 0;
}
