import { ApiError } from '../../index.js';
import { usageError } from '../cli-error.js';
import type { Context } from '../context.js';
import { serviceUrl } from '../profiles/connection.js';
import { type Profile, profileFile, readProfiles, writeProfiles } from '../profiles/profile-file.js';
import { oneLine } from '../terminal/text-width.js';
import { ask, askSecret, canAsk, lineOfStdin } from '../terminal/prompt.js';

interface LoginOptions {
  url?: string;
  key?: string;
  secret?: string;
  profile?: string;
}

const DEFAULT_PROFILE = 'default';

export async function login(context: Context, options: LoginOptions): Promise<void> {
  const { output } = context;
  const name = options.profile ?? DEFAULT_PROFILE;
  const stored = await readProfiles();
  if (options.secret !== undefined) {
    output.warn('--secret shows the secret to all users of this machine (ps) and in the history of the shell.');
  }
  const entered = await enter(options, stored.profiles[name]);
  warnOfPlainText(entered.url, (text) => output.warn(text));
  const account = await check(context, entered);
  const profile: Profile = { ...entered, account: account?.id, account_name: account?.name };
  await writeProfiles({ current: stored.current ?? name, profiles: { ...stored.profiles, [name]: profile } });

  output.document({
    profile: name,
    url: profile.url,
    account: account?.id ?? null,
    account_name: account?.name ?? null,
  });
  output.print(`Signed in to ${profile.url}${account ? ` as ${oneLine(account.name)}` : ''}.`);
  output.note(`The profile ${name} is in ${profileFile()}.`);
  if (stored.current && stored.current !== name)
    output.note(`To use it: --profile ${name}, or vnotes profiles ${name}`);
}

export async function logout(context: Context, { profile: wanted, all }: { profile?: string; all?: boolean }) {
  const { output } = context;
  const { current, profiles } = await readProfiles();
  const names = all ? Object.keys(profiles) : [wanted ?? current].filter((name) => name !== null);
  const unknown = names.find((name) => profiles[name] === undefined);
  if (unknown !== undefined) throw usageError(`There is no profile ${unknown}. See: vnotes profiles`);
  const left = Object.fromEntries(Object.entries(profiles).filter(([name]) => !names.includes(name)));
  const next = current !== null && left[current] ? current : (Object.keys(left)[0] ?? null);
  await writeProfiles({ current: next, profiles: left });
  output.document({ forgotten: names });
  if (names.length === 0) return output.note('You were not signed in.');
  output.print(`Forgotten: ${names.join(', ')}. The key stays valid until it is revoked.`);
  if (next !== null && next !== current) output.note(`The profile ${next} is used from now on.`);
}

export async function chooseProfile(context: Context, _options: object, name?: string): Promise<void> {
  const { output } = context;
  const stored = await readProfiles();
  if (name !== undefined) {
    if (!stored.profiles[name])
      throw usageError(`There is no profile ${name}. Make it: vnotes login --profile ${name}`);
    await writeProfiles({ ...stored, current: name });
    output.document({ current: name });
    return output.print(`The profile ${name} is used from now on.`);
  }
  const rows = Object.entries(stored.profiles).map(([profile, { url, key, account_name: account }]) => ({
    profile,
    current: profile === stored.current,
    url,
    key,
    account_name: account ?? null,
  }));
  output.document({ profiles: rows });
  if (rows.length === 0) return output.note('There are no profiles. Make one: vnotes login');
  output.table(rows, [
    { title: 'PROFILE', value: ({ profile, current }) => `${current ? '*' : ' '} ${profile}` },
    { title: 'URL', value: ({ url }) => url },
    { title: 'ACCOUNT', value: ({ account_name: account }) => account ?? '', flexible: true },
    { title: 'KEY', value: ({ key }) => `${key.slice(0, 12)}…`, optional: 1 },
  ]);
}

/** Asks for what is neither an option nor in the environment. The secret is never shown. */
async function enter(options: LoginOptions, before: Profile | undefined): Promise<Profile> {
  const { VNOTES_URL, VNOTES_KEY, VNOTES_SECRET } = process.env;
  const asking = canAsk();
  const suggestion = before?.url ?? 'http://127.0.0.1:3000';
  const askUrl = async () => (await ask(`URL [${suggestion}]: `)) || suggestion;
  const url = options.url ?? VNOTES_URL ?? (asking ? await askUrl() : before?.url);
  if (!url) throw usageError('Say where the service is: --url https://notes.example.com');
  const service = serviceUrl(url, '--url');
  const key = options.key ?? VNOTES_KEY ?? (asking ? await ask('Key (vnk_…): ') : '');
  if (!key) throw usageError('Give the key: --key vnk_…');
  const secret =
    options.secret ?? VNOTES_SECRET ?? (asking ? await askSecret('Secret (not shown): ') : await lineOfStdin());
  if (!secret) throw usageError('Give the secret on standard input: vnotes login … < secret.txt');
  return { url: service, key, secret };
}

/** A key without the scope account:read is valid, too: the service says so after it has checked the credentials. */
async function check(context: Context, { url, key, secret }: Profile) {
  const client = await context.clientFor({ baseUrl: url, key, secret, maxRetries: 1 });
  try {
    return await client.account.get();
  } catch (error) {
    if (error instanceof ApiError && error.type === 'PermissionError') return null;
    throw error;
  }
}

function warnOfPlainText(url: string, warn: (text: string) => void): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)) {
    warn(`The secret goes to ${hostname} without encryption. Use https outside your own machine.`);
  }
}
