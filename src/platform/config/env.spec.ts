import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { modelSettings, proxyText, readEnv } from './env.js';

const KEY = 'k'.repeat(32);
const RANDOM = 'bYk1mZ0QnT7cXv3uJ9sLr5aPeW8gHdF2';
const read = (keys: NodeJS.ProcessEnv) =>
  readEnv({ NODE_ENV: 'test', DATABASE_URL: 'postgres://unused', REDIS_URL: 'redis://unused', ...keys });

describe('SECRET_KEY and SECRET_KEY_PREVIOUS', () => {
  it('are taken from 32 characters on, the second only where there is one', () => {
    const previous = 'p'.repeat(32);
    expect(read({ SECRET_KEY: KEY, SECRET_KEY_PREVIOUS: previous })).toMatchObject({
      secretKey: KEY,
      secretKeyPrevious: previous,
    });
    for (const absent of [undefined, '', '  ']) {
      expect(read({ SECRET_KEY: KEY, SECRET_KEY_PREVIOUS: absent }).secretKeyPrevious).toBeNull();
    }
  });

  it.each([
    [{}, 'SECRET_KEY is required'],
    [{ SECRET_KEY: 'k'.repeat(31) }, 'SECRET_KEY must be at least 32 characters long'],
    [{ SECRET_KEY: KEY, SECRET_KEY_PREVIOUS: 'p' }, 'SECRET_KEY_PREVIOUS must be at least 32 characters long'],
    [{ SECRET_KEY: KEY, METRICS_TOKEN: 'm'.repeat(15) }, 'METRICS_TOKEN must be at least 16 characters long'],
    [{ SECRET_KEY: KEY, SECRET_KEY_PREVIOUS: ` ${KEY}\n` }, 'SECRET_KEY_PREVIOUS must differ from SECRET_KEY'],
  ])('%j: %s', (keys, problem) => {
    expect(() => read(keys)).toThrow(`Invalid environment variables:\n  ${problem}`);
  });
});

/** NAME and value of every line of .env.example. */
const EXAMPLE = new Map(
  [...readFileSync('.env.example', 'utf8').matchAll(/^# ([A-Z][A-Z0-9_]+)=(.*)$/gm)].map(
    ([, name = '', value = '']) => [name, value],
  ),
);

/** NAME and default of every variable in the table of docs/operations.md; null where no value is named. */
function operationsTable(): Map<string, string | null> {
  const rows = readFileSync('docs/operations.md', 'utf8').matchAll(/^\| (`[A-Z][A-Z0-9_`, ]+`) \| ([^|]+) \|/gm);
  return new Map(
    [...rows].flatMap(([, names = '', defaults = '']) => {
      const values = [...defaults.matchAll(/`([^`]+)`|–/g)].map(([, value]) => value ?? null);
      const isRequired = defaults.startsWith('required');
      return names
        .split(', ')
        .map((name, i) => [name.replaceAll('`', ''), isRequired ? null : (values[i] ?? null)] as const);
    }),
  );
}

describe('the defaults of the environment', () => {
  /** Examples rather than defaults: these are required. */
  const REQUIRED = new Set(['DATABASE_URL', 'REDIS_URL']);
  /** The engine knows its server's address. */
  const HOSTED = ['OPENAI_BASE_URL'];
  const defaults = read({ NODE_ENV: undefined, SECRET_KEY: RANDOM });
  const propertyOf = (name: string) =>
    name.toLowerCase().replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

  it('are all in .env.example', () => {
    expect([...EXAMPLE.keys()].map(propertyOf).toSorted()).toEqual(Object.keys(defaults).toSorted());
  });

  it.each([...EXAMPLE].filter(([name]) => !REQUIRED.has(name) && name !== 'SECRET_KEY'))(
    '%s=%s in .env.example is what happens without it',
    (name, value) => {
      expect(read({ NODE_ENV: undefined, SECRET_KEY: RANDOM, [name]: value })).toEqual(defaults);
      const stated = defaults[propertyOf(name) as keyof typeof defaults];
      if (value === '') expect([null, []]).toContainEqual(stated);
      else expect(stated).not.toBeNull();
    },
  );

  it('are the same in docs/operations.md', () => {
    const expected = [...EXAMPLE].map(([name, value]) => [name, REQUIRED.has(name) ? null : value || null]);
    const table = operationsTable();
    for (const name of HOSTED) table.set(name, null);
    expect(Object.fromEntries(table)).toEqual(Object.fromEntries(expected));
  });

  it('of what receivers and owners of data rely on are these (D29)', () => {
    expect(defaults).toMatchObject({
      webhookRetrySchedule: [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400],
      eventRetentionDays: 30,
      maxAudioSeconds: 7200,
      addressRateLimit: { rate: 60, burst: 120 },
      webhookAllowedCidrs: [],
    });
  });
});

describe('NODE_ENV', () => {
  it('is production when nothing else is said', () => {
    expect(read({ NODE_ENV: undefined, SECRET_KEY: RANDOM }).nodeEnv).toBe('production');
  });
});

describe('a SECRET_KEY in production', () => {
  it.each([
    'k'.repeat(64),
    'changemechangemechangemechangeme',
    '0123456789abcdef0123456789abcdef',
    'abcdefghijklmnopqrstuvwxyz012345',
    '1234567890123456789012345678901234567890',
  ])('is refused when it is easy to guess: %s', (key) => {
    expect(() => read({ NODE_ENV: 'production', SECRET_KEY: key })).toThrow(
      'SECRET_KEY is easy to guess; make one with: openssl rand -base64 48',
    );
    expect(read({ SECRET_KEY: key }).secretKey).toBe(key);
  });

  it.each([RANDOM, '9f86d081884c7d659a2feaa0c55ad015', 'a3f107c95be2d84416fa0b39cc8e57d21f60'])(
    'is taken when it is random: %s',
    (key) => expect(read({ NODE_ENV: 'production', SECRET_KEY: key }).secretKey).toBe(key),
  );

  it('may replace an easy one, which is still read', () => {
    const env = read({ NODE_ENV: 'production', SECRET_KEY: RANDOM, SECRET_KEY_PREVIOUS: KEY });
    expect(env.secretKeyPrevious).toBe(KEY);
  });
});

describe('ROLES (D38)', () => {
  it.each([
    [undefined, ['api', 'transcriber', 'deliverer']],
    ['api', ['api']],
    ['worker', ['transcriber', 'deliverer']],
    ['deliverer, api', ['deliverer', 'api']],
    ['worker,transcriber', ['transcriber', 'deliverer']],
  ])('%s is %j', (ROLES, roles) => {
    expect(read({ SECRET_KEY: KEY, ROLES }).roles).toEqual(roles);
  });

  it('refuses another name', () => {
    expect(() => read({ SECRET_KEY: KEY, ROLES: 'api,constructor' })).toThrow(
      'ROLES must be one or more of api, transcriber, deliverer, worker, separated by commas',
    );
  });

  it('needs and reads no SECRET_KEY for transcribing alone', () => {
    const unreadable = { SECRET_KEY_FILE: '/nowhere/key', SECRET_KEY_PREVIOUS: 'short' };
    expect(read({ ROLES: 'transcriber', ...unreadable })).toMatchObject({ secretKey: null, secretKeyPrevious: null });
    for (const ROLES of ['api', 'deliverer', 'worker', 'transcriber,api']) {
      expect(() => read({ ROLES })).toThrow('SECRET_KEY is required');
    }
  });
});

describe('a secret in a file', () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'env-'));
    file = path.join(folder, 'secret');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is read without its last newline', () => {
    writeFileSync(file, `${RANDOM}\n`);
    expect(read({ SECRET_KEY_FILE: file }).secretKey).toBe(RANDOM);
    writeFileSync(file, `postgres://user:password@host/db\r\n`);
    expect(read({ SECRET_KEY: KEY, DATABASE_URL: '', DATABASE_URL_FILE: file }).databaseUrl).toBe(
      'postgres://user:password@host/db',
    );
  });

  it.each([
    'DATABASE_URL',
    'REDIS_URL',
    'SECRET_KEY',
    'SECRET_KEY_PREVIOUS',
    'S3_ACCESS_KEY_ID',
    'S3_SECRET_ACCESS_KEY',
    'OPENAI_API_KEY',
    'METRICS_TOKEN',
  ])('is refused beside %s itself, and must be readable', (name) => {
    writeFileSync(file, RANDOM);
    const both = { SECRET_KEY: KEY, [name]: `redis://${KEY}`, [`${name}_FILE`]: file };
    expect(() => read(both)).toThrow(`${name} and ${name}_FILE must not both be set`);
    const missing = { SECRET_KEY: KEY, [name]: undefined, [`${name}_FILE`]: path.join(folder, 'nothing') };
    expect(() => read(missing)).toThrow(`${name}_FILE cannot be read: ENOENT`);
  });
});

describe('modelSettings', () => {
  it('needs no other variable', () => {
    expect(modelSettings({})).toEqual({
      modelsFolder: './.data/models',
      modelsUrl: 'https://huggingface.co',
      hfToken: null,
    });
    expect(modelSettings({ MODELS_FOLDER: '/m', MODELS_URL: 'http://mirror', HF_TOKEN: 'hf_x' })).toEqual({
      modelsFolder: '/m',
      modelsUrl: 'http://mirror',
      hfToken: 'hf_x',
    });
  });

  it('names what is wrong', () => {
    expect(() => modelSettings({ MODELS_URL: 'mirror' })).toThrow('MODELS_URL must be a URL that starts with https://');
  });
});

describe('proxyText', () => {
  it.each([
    [{}, 'None is set now.'],
    [{ HTTPS_PROXY: '' }, 'None is set now.'],
    [{ HTTPS_PROXY: 'http://user:secret@proxy:3128/' }, 'Set now: HTTPS_PROXY=http://proxy:3128.'],
    [{ HTTP_PROXY: 'proxy:3128' }, 'Set now: HTTP_PROXY=(not a URL).'],
    [{ HTTP_PROXY: 'user secret' }, 'Set now: HTTP_PROXY=(not a URL).'],
    [
      { https_proxy: 'http://small:1', HTTPS_PROXY: 'http://large:1', NO_PROXY: 'localhost,.example.com' },
      'Set now: HTTPS_PROXY=http://small:1, NO_PROXY=localhost,.example.com.',
    ],
  ])('%j: %s', (source, text) => expect(proxyText(source)).toBe(text));
});
