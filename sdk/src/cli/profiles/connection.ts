import { CliError, usageError } from '../cli-error.js';
import { EXIT } from '../exit-codes.js';
import { isExposed, profileFile, type Profile, readProfiles } from './profile-file.js';

/** With what the service is called. */
export interface Connection extends Profile {
  /** Null when it comes from the environment. */
  profile: string | null;
}

const SIGN_IN = 'Run `vnotes login`, or set VNOTES_URL, VNOTES_KEY and VNOTES_SECRET.';

/**
 * The environment wins over the profile. A secret of a profile is never sent to a service that the profile does not
 * name.
 * @param name of `--profile`
 */
export async function findConnection(name: string | undefined, warn: (text: string) => void): Promise<Connection> {
  const { VNOTES_URL, VNOTES_KEY, VNOTES_SECRET, VNOTES_PROFILE } = process.env;
  if (name === undefined && (VNOTES_KEY || VNOTES_SECRET)) {
    if (!VNOTES_KEY || !VNOTES_SECRET) throw usageError('Set VNOTES_KEY and VNOTES_SECRET both.');
    const url = VNOTES_URL || (await storedProfile(VNOTES_PROFILE || undefined))?.profile.url;
    if (!url) throw usageError('Set VNOTES_URL, such as https://notes.example.com.');
    return { profile: null, url: serviceUrl(url, 'VNOTES_URL'), key: VNOTES_KEY, secret: VNOTES_SECRET };
  }

  const wanted = name ?? (VNOTES_PROFILE || undefined);
  const stored = await storedProfile(wanted);
  if (!stored && wanted !== undefined) {
    throw new CliError(`There is no profile ${wanted}. Make it: vnotes login --profile ${wanted}`, EXIT.credentials);
  }
  if (!stored) throw new CliError(`You are not signed in. ${SIGN_IN}`, EXIT.credentials);
  if (VNOTES_URL && name === undefined && serviceUrl(VNOTES_URL, 'VNOTES_URL') !== stored.profile.url) {
    const where = `${VNOTES_URL}, but the profile ${stored.name} is for ${stored.profile.url}`;
    throw usageError(`VNOTES_URL is ${where}. Set VNOTES_KEY and VNOTES_SECRET too, or use --profile.`);
  }
  if (await isExposed()) {
    warn(`Other users of this machine can read ${profileFile()}. Correct it: chmod 600 ${profileFile()}`);
  }
  return { ...stored.profile, profile: stored.name };
}

/** @returns the URL without `/v1` and a slash at its end. @throws CliError when it is none */
export function serviceUrl(text: string, name: string): string {
  const given = text.trim();
  const url = parsed(given);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw usageError(`${name} must be an http or https URL, such as https://notes.example.com.`);
  }
  if (url.username || url.password) throw usageError(`${name} must have no user name and password in it.`);
  return `${url.origin}${url.pathname}`.replace(/(?<!\/)\/+$/, '').replace(/\/v1$/, '');
}

async function storedProfile(wanted: string | undefined): Promise<{ name: string; profile: Profile } | null> {
  const { current, profiles } = await readProfiles();
  const name = wanted ?? current;
  const profile = name === null ? undefined : profiles[name];
  return name !== null && profile ? { name, profile } : null;
}

function parsed(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
