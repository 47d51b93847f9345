import { crc32 } from 'node:zlib';
import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import type { Repository, UpdateResult } from 'typeorm';
import type { DatabaseService } from '../../platform/database/database.service.js';
import type { SecretsService } from '../../platform/secrets.service.js';
import { type ApiKeyCredential, ApiKeyCredentialsService, makeKeyPair } from './api-key-credentials.service.js';
import type { ApiKey } from './api-key.entity.js';

const NOW = new Date('2026-11-22T10:00:00Z');
const FLUSH_MS = 2000;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const at = (ms: number): Date => new Date(NOW.getTime() + ms);
const credential = (changes: Partial<ApiKeyCredential> = {}): ApiKeyCredential =>
  ({ id: 'k', secretHash: 'current hash of s', expiresAt: null, ...changes }) as ApiKeyCredential;

/** Hashes that tell which key they are under, as the real ones do. */
const secrets: Partial<SecretsService> = {
  matches: (secret: string, hash: string) => hash.endsWith(` hash of ${secret}`),
  matchesDigest: (secret: string, digest: Buffer) => digest.toString() === secret,
  digestOf: (secret: string) => Buffer.from(secret),
  madeUnder: (hash: string) => (hash.startsWith('previous') ? 'previous' : 'current'),
  hash: (secret: string) => `current hash of ${secret}`,
};
const serviceWith = (database: object, keys: object = {}): ApiKeyCredentialsService =>
  new ApiKeyCredentialsService(keys as Repository<ApiKey>, database as DatabaseService, secrets as SecretsService);

beforeAll(() => Logger.overrideLogger(false));

describe('makeKeyPair (D9)', () => {
  it('makes a key of 24 and a secret of 43 base62 characters and a checksum of 6', () => {
    const { key, secret } = makeKeyPair();
    expect(key).toMatch(/^vnk_[0-9A-Za-z]{24}$/);
    expect(secret).toMatch(/^vns_[0-9A-Za-z]{49}$/);
  });

  it('ends the secret with the CRC-32 of its 43 characters, written in base62', () => {
    const { secret } = makeKeyPair();
    const body = secret.slice(4, 47);
    const digits = [...secret.slice(47)].map((digit) => BASE62.indexOf(digit));
    expect(digits.reduce((value, digit) => value * 62 + digit, 0)).toBe(crc32(body));
  });

  it('never makes the same half twice, and uses every character', () => {
    const pairs = Array.from({ length: 500 }, makeKeyPair);
    expect(new Set(pairs.map(({ key }) => key)).size).toBe(500);
    expect(new Set(pairs.map(({ secret }) => secret)).size).toBe(500);
    const used = new Set(pairs.flatMap(({ secret }) => [...secret.slice(4, 47)]));
    expect([...used].toSorted().join('')).toBe([...BASE62].toSorted().join(''));
  });
});

describe('a pair (D9)', () => {
  const isWellFormed = ({ key, secret }: ReturnType<typeof makeKeyPair>) => serviceWith({}).isWellFormed(key, secret);

  it('knows what makeKeyPair makes', () => {
    for (let i = 0; i < 200; i++) expect(isWellFormed(makeKeyPair())).toBe(true);
  });

  it('detects a typo in the secret without a look-up: any one character changed', () => {
    const { key, secret } = makeKeyPair();
    for (let i = 4; i < secret.length; i++) {
      for (const other of [...BASE62].filter((character) => character !== secret[i])) {
        const typed = secret.slice(0, i) + other + secret.slice(i + 1);
        expect(isWellFormed({ key, secret: typed })).toBe(false);
      }
    }
  });

  it('detects two adjacent characters that were swapped', () => {
    const { key, secret } = makeKeyPair();
    for (let i = 4; i < secret.length - 1; i++) {
      const swapped = secret.slice(0, i) + secret[i + 1] + secret[i] + secret.slice(i + 2);
      expect(isWellFormed({ key, secret: swapped })).toBe(swapped === secret);
    }
  });

  it('refuses whatever else may come in the two headers', () => {
    const { key, secret } = makeKeyPair();
    fc.assert(fc.property(fc.string(), (noise) => expect(isWellFormed({ key: noise, secret })).toBe(false)));
    fc.assert(fc.property(fc.string(), (noise) => expect(isWellFormed({ key, secret: noise })).toBe(false)));
    for (const broken of [`${secret} `, ` ${secret}`, `${secret}\n`, secret.slice(0, -1), `${secret}0`, key]) {
      expect(isWellFormed({ key, secret: broken })).toBe(false);
    }
    for (const broken of [`${key}\n`, key.slice(0, -1), `${key}0`, key.toUpperCase(), secret]) {
      expect(isWellFormed({ key: broken, secret })).toBe(false);
    }
  });
});

describe('a secret', () => {
  let service: ApiKeyCredentialsService;

  beforeEach(() => {
    jest.useFakeTimers({ now: NOW });
    service = serviceWith({});
  });

  afterEach(() => jest.useRealTimers());

  it.each([
    ['s', null, true],
    ['x', null, false],
    ['s', at(1), true],
    ['s', at(0), false],
    ['s', at(-1), false],
  ])('%s of a key that expires at %s: %s', (secret, expiresAt, isValid) => {
    expect(service.verifySecret(credential({ expiresAt }), secret)).toBe(isValid);
  });

  it('is compared by its digest after the first match, and the expiry still counts', () => {
    const known = credential({ expiresAt: at(1000) });
    expect(service.verifySecret(known, 'x')).toBe(false);
    expect(known.secretDigest).toBeUndefined();
    service.verifySecret(known, 's');
    expect(known.secretDigest).toEqual(Buffer.from('s'));
    known.secretHash = 'unused';
    expect([service.verifySecret(known, 's'), service.verifySecret(known, 'x')]).toEqual([true, false]);
    jest.setSystemTime(at(1000));
    expect(service.verifySecret(known, 's')).toBe(false);
  });
});

describe('keys that are not cached', () => {
  let asked: number[];
  let service: ApiKeyCredentialsService;

  beforeEach(() => {
    asked = [];
    service = serviceWith({
      prepared: async (_: string, [keys]: [string[]]) => {
        asked.push(keys.length);
        return [];
      },
    });
  });

  it('are looked up by themselves when they were valid before, and together when they are unknown', async () => {
    await Promise.all(['a', 'b'].map((key) => service.findCredential(key, { isKnown: true })));
    expect(asked).toEqual([1, 1]);
    const unknown = ['c', 'd', 'e'].map((key) => service.findCredential(key, { isKnown: false }));
    expect(await Promise.all(unknown)).toEqual([null, null, null]);
    expect(asked).toEqual([1, 1, 3]);
  });

  it('are at most 500 in one statement while unknown, and none before 10 ms after the one before', async () => {
    const started = performance.now();
    await Promise.all(Array.from({ length: 501 }, (_, i) => service.findCredential(`${i}`, { isKnown: false })));
    expect(asked).toEqual([500, 1]);
    expect(performance.now() - started).toBeGreaterThanOrEqual(9);
  });
});

describe('the uses of keys (D13)', () => {
  /** The uses that Postgres was given, by key, statement by statement. */
  let written: Record<string, number>[];
  /** When each key was used last, in the order of the writes. */
  let usedAt: Date[];
  /** What a write waits for. */
  let slow: Promise<void>;
  /** Called instead of a write that fails. */
  let failing: (() => void) | null;
  let usage: ApiKeyCredentialsService;

  beforeEach(() => {
    jest.useFakeTimers({ now: NOW });
    written = [];
    slow = Promise.resolve();
    usedAt = [];
    failing = null;
    const query = async (_: string, [ids, counts, times]: [string[], number[], Date[]]) => {
      if (failing) {
        failing();
        throw new Error('no connection');
      }
      await slow;
      usedAt.push(...times);
      written.push(Object.fromEntries(ids.map((id, i) => [id, counts[i] as number])));
    };
    usage = serviceWith({ query });
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  it('writes the uses of all keys together, and nothing while none is used', async () => {
    for (const key of ['a', 'b', 'a']) usage.countUse(key);
    await pass(FLUSH_MS - 1);
    expect(written).toEqual([]);
    await pass(1);
    expect(written).toEqual([{ a: 2, b: 1 }]);
    await pass(10 * FLUSH_MS);
    expect(written).toHaveLength(1);
  });

  it('adds what could not be written to the uses that come meanwhile', async () => {
    failing = () => usage.countUse('a');
    for (const key of ['a', 'a', 'b']) usage.countUse(key);
    await pass(FLUSH_MS);
    failing = null;
    usage.countUse('a');
    await pass(FLUSH_MS);
    expect(written).toEqual([{ a: 4, b: 1 }]);
  });

  it('writes what is left when the process stops', async () => {
    slow = new Promise((resolve) => void setTimeout(resolve, 100));
    usage.countUse('a');
    const stopped = usage.onApplicationShutdown();
    expect(jest.getTimerCount()).toBe(1);
    await pass(99);
    expect(written).toEqual([]);
    await pass(1);
    await stopped;
    expect(written).toEqual([{ a: 1 }]);
    await usage.onApplicationShutdown();
    expect(written).toHaveLength(1);
  });

  it('tells the last use of each key, also of those that could not be written before', async () => {
    usage.countUse('a');
    await pass(500);
    usage.countUse('a');
    usage.countUse('b');
    failing = () => undefined;
    await pass(FLUSH_MS - 500);
    failing = null;
    await pass(300);
    usage.countUse('b');
    await pass(FLUSH_MS);
    expect(written).toEqual([{ a: 2, b: 2 }]);
    expect(usedAt.map((time) => time.getTime() - NOW.getTime())).toEqual([500, FLUSH_MS + 300]);
  });

  it('tries again after 2 s by itself', async () => {
    failing = () => undefined;
    usage.countUse('a');
    await pass(FLUSH_MS);
    failing = null;
    await pass(FLUSH_MS - 1);
    expect(written).toEqual([]);
    await pass(1);
    expect(written).toEqual([{ a: 1 }]);
  });

  it('waits for the next 2 s with what comes after a write, and writes one batch after the other', async () => {
    usage.countUse('a');
    await pass(FLUSH_MS);
    await pass(FLUSH_MS / 2);
    usage.countUse('a');
    await pass(FLUSH_MS - 1);
    expect(written).toHaveLength(1);
    await pass(1);
    expect(written).toEqual([{ a: 1 }, { a: 1 }]);
  });
});

/** Resolves when everything has run that waits for no further answer. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a hash under SECRET_KEY_PREVIOUS', () => {
  let writes: { parameters: unknown[]; end: (error?: Error) => void }[];
  let service: ApiKeyCredentialsService;

  const use = (id: string): boolean =>
    service.verifySecret(credential({ id, secretHash: `previous hash of ${id}` }), id);
  const written = () => writes.map(({ parameters }) => parameters);

  beforeEach(() => {
    writes = [];
    const keys = {
      update: ({ id, secretHash }: ApiKey, after: ApiKey) =>
        new Promise<UpdateResult>((resolve, reject) => {
          const end = (error?: Error): void => (error ? reject(error) : resolve({} as UpdateResult));
          writes.push({ parameters: [id, secretHash, after.secretHash], end });
        }),
    };
    service = serviceWith({}, keys);
  });

  it('is replaced exactly as it was seen when its key is used, and compared until then', () => {
    const known = credential({ secretHash: 'previous hash of s' });
    expect(service.verifySecret(known, 's')).toBe(true);
    expect(known.secretDigest).toBeUndefined();
    expect(written()).toEqual([['k', 'previous hash of s', 'current hash of s']]);
    expect(service.verifySecret(known, 'x')).toBe(false);
  });

  it('is written once for all the uses that come in the meantime, and one key at a time', async () => {
    for (let i = 0; i < 50; i++) for (const id of ['a', 'b', 'c']) use(id);
    expect(writes).toHaveLength(1);
    for (const count of [2, 3, 3]) {
      writes.at(-1)?.end();
      await settled();
      expect(writes).toHaveLength(count);
    }
    expect(written().map(([id]) => id)).toEqual(['a', 'b', 'c']);
    use('d');
    expect(writes).toHaveLength(4);
  });

  it('is tried again at the next use after a write that fails', async () => {
    use('a');
    use('b');
    writes[0]?.end(new Error('no connection'));
    await settled();
    writes[1]?.end();
    await settled();
    use('a');
    expect(written().map(([id]) => id)).toEqual(['a', 'b', 'a']);
  });

  it('is the last that is written when the process stops meanwhile', async () => {
    for (const id of ['a', 'b', 'c']) use(id);
    const stopped = service.onApplicationShutdown();
    writes[0]?.end();
    await stopped;
    expect(writes).toHaveLength(1);
  });
});
