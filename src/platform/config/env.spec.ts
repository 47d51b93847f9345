import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { readEnv } from './env.js';

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
    [{ SECRET_KEY: KEY, SECRET_KEY_PREVIOUS: ` ${KEY}\n` }, 'SECRET_KEY_PREVIOUS must differ from SECRET_KEY'],
  ])('%j: %s', (keys, problem) => {
    expect(() => read(keys)).toThrow(`Invalid environment variables:\n  ${problem}`);
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
