import type { Repository } from 'typeorm';
import type { CredentialVersionsService } from '../../access/credential-versions.service.js';
import type { DatabaseService } from '../../platform/database/database.service.js';
import {
  AuthenticationError,
  LimitExceededError,
  NotFoundError,
  PermissionError,
} from '../../platform/errors/errors.js';
import type { SecretsService } from '../../platform/secrets.service.js';
import { ApiKey } from './api-key.entity.js';
import { statusOf } from './api-key-status.js';
import type { ApiKeyUsageService } from './api-key-usage.service.js';
import type { ApiKeyCredential } from './api-keys.queries.js';
import { ApiKeysService } from './api-keys.service.js';
import type { SecretRehashService } from './rehash/secret-rehash.service.js';

const NOW = new Date('2026-11-22T10:00:00Z');
const ID = '01900000-0000-7000-8000-000000000001';
const at = (ms: number): Date => new Date(NOW.getTime() + ms);

describe('ApiKeysService', () => {
  let steps: unknown[][];
  /** Active keys of the account, and the key that makes another. */
  let active: number;
  let maker: Partial<ApiKey> | null;
  let inserted: Partial<ApiKey>[];
  let revoked: { id: string }[];
  let madeUnder: string;
  let asked: { keys: number }[];
  let service: ApiKeysService;

  beforeEach(() => {
    jest.useFakeTimers({ now: NOW, doNotFake: ['nextTick', 'performance', 'setImmediate', 'setTimeout'] });
    [steps, active, maker, inserted, revoked, madeUnder, asked] = [[], 0, { expiresAt: null }, [], [], 'current', []];
    const log =
      <T>(name: string, answer: () => T) =>
      (...given: unknown[]): T => {
        steps.push([name, ...given]);
        return answer();
      };
    const repository = {
      metadata: { tableName: 'api_keys' },
      insert: async (row: ApiKey) => {
        steps.push(['insert']);
        inserted.push(row);
      },
    };
    const tx = {
      manager: {
        getRepository: () => repository,
        countBy: async () => log('count', () => active)(),
        findOneBy: async (_: unknown, where: object) => log('maker', () => maker)(where),
      },
      prepared: async (_: string, given: unknown[]) => log('lock', () => [])(...given),
      query: async (_: string, given: unknown[]) => log('revoke', () => revoked)(...given),
    };
    const database = {
      async transact<T>(work: (transaction: unknown) => Promise<T>): Promise<T> {
        const result = await work(tx);
        steps.push(['commit']);
        return result;
      },
      prepared: async (_: string, [keys]: [string | string[]]) => {
        asked.push({ keys: Array.isArray(keys) ? keys.length : 0 });
        return [];
      },
    };
    const secrets: Partial<SecretsService> = {
      matches: (secret: string, hash: string) => hash === `hash of ${secret}`,
      matchesDigest: (secret: string, digest: Buffer) => digest.toString() === secret,
      digestOf: (secret: string) => Buffer.from(secret),
      madeUnder: () => madeUnder as 'current',
      hash: (secret: string) => `hash of ${secret}`,
    };
    const versions = {
      async change<T>(accountId: string, work: (transaction: unknown) => Promise<T>): Promise<T> {
        const result = await database.transact(work);
        steps.push(['announce', accountId]);
        return result;
      },
    };
    service = new ApiKeysService(
      { create: (row: object) => Object.assign(new ApiKey(), row) } as unknown as Repository<ApiKey>,
      database as unknown as DatabaseService,
      secrets as SecretsService,
      { count: log('use', () => undefined) } as unknown as ApiKeyUsageService,
      { schedule: log('rehash', () => undefined) } as unknown as SecretRehashService,
      versions as unknown as CredentialVersionsService,
    );
  });

  afterEach(() => jest.useRealTimers());

  describe('a secret', () => {
    const credential = (changes: Partial<ApiKeyCredential> = {}): ApiKeyCredential =>
      ({ id: 'k', secretHash: 'hash of s', expiresAt: null, ...changes }) as ApiKeyCredential;

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

    it('whose hash is under the previous key is hashed anew, and compared by the hash until then', () => {
      madeUnder = 'previous';
      const known = credential();
      expect(service.verifySecret(known, 's')).toBe(true);
      expect(known.secretDigest).toBeUndefined();
      expect(steps).toEqual([['rehash', known, 's']]);
      expect(service.verifySecret(known, 'x')).toBe(false);
      expect(steps).toHaveLength(1);
    });
  });

  it('looks up a known key by itself, and unknown ones together', async () => {
    await service.findCredential('a', { isKnown: true });
    expect(asked).toEqual([{ keys: 0 }]);
    const unknown = ['b', 'c', 'd'].map((key) => service.findCredential(key, { isKnown: false }));
    expect(await Promise.all(unknown)).toEqual([null, null, null]);
    expect(asked.slice(1)).toEqual([{ keys: 3 }]);
  });

  it('looks up at most 500 unknown keys in one statement, and none before 10 ms after the one before', async () => {
    const started = performance.now();
    await Promise.all(Array.from({ length: 501 }, (_, i) => service.findCredential(`${i}`, { isKnown: false })));
    expect(asked).toEqual([{ keys: 500 }, { keys: 1 }]);
    expect(performance.now() - started).toBeGreaterThanOrEqual(9);
  });

  it('counts the use of a key', () => {
    service.countUse('k');
    expect(steps).toEqual([['use', 'k']]);
  });

  describe('a new key', () => {
    const MAKER = { keyId: 'maker', scopes: ['recordings:read', 'account:write'] };

    it('belongs to its account and its maker, is unused, and alone knows its secret', async () => {
      const { key, secret } = await service.create('a', MAKER, { name: 'n', scopes: ['account:write'] });
      expect(inserted).toEqual([key]);
      expect(key).toMatchObject({
        accountId: 'a',
        name: 'n',
        description: null,
        secretHash: `hash of ${secret}`,
        scopes: ['account:write'],
        usageCount: 0,
        lastUsedAt: null,
        expiresAt: null,
        revokedAt: null,
        createdBy: 'maker',
        createdAt: NOW,
        updatedAt: NOW,
      });
      expect(key.keyPrefix).toBe(key.key.slice(0, 12));
    });

    it('has the scopes of its maker when it asks for none, and never more', async () => {
      expect((await service.create('a', MAKER, { name: 'n' })).key.scopes).toEqual(MAKER.scopes);
      const error: unknown = await service
        .create('a', MAKER, { name: 'n', scopes: ['account:write', 'webhooks:read'] })
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(PermissionError);
      expect((error as PermissionError).details).toEqual({ required_scope: 'webhooks:read' });
      expect((error as PermissionError).message).toContain('cannot give it to another key');
    });

    it.each<[Date | null, string | null, Date | null]>([
      [null, null, null],
      [null, at(5).toISOString(), at(5)],
      [at(9), null, at(9)],
      [at(9), at(5).toISOString(), at(5)],
      [at(9), at(9).toISOString(), at(9)],
      [at(9), at(10).toISOString(), at(9)],
    ])('of a maker that expires at %s asks for %s and gets %s', async (expiresAt, asksFor, gets) => {
      maker = { expiresAt };
      const { key } = await service.create('a', MAKER, { name: 'n', expires_at: asksFor });
      expect([key.expiresAt, inserted[0]?.expiresAt]).toEqual([gets, gets]);
    });

    it('is counted and capped under the lock of the account, then inserted', async () => {
      active = 99;
      await service.create('a', MAKER, { name: 'n' });
      expect(steps.map(([name]) => name)).toEqual(['lock', 'count', 'maker', 'insert', 'commit']);
      expect(steps[0]).toEqual(['lock', ['api_keys:a']]);
      expect(steps[2]?.[1]).toMatchObject({ id: 'maker', accountId: 'a', revokedAt: expect.anything() });
    });

    it('is refused when there are 100, and when its maker was revoked meanwhile', async () => {
      maker = null;
      await expect(service.create('a', MAKER, { name: 'n' })).rejects.toThrow(AuthenticationError);
      active = 100;
      await expect(service.create('a', MAKER, { name: 'n' })).rejects.toThrow(LimitExceededError);
      expect(inserted).toEqual([]);
      active = 0;
      // The operator is no key.
      await service.create('a', { ...MAKER, keyId: null }, { name: 'n' });
      expect(inserted).toHaveLength(1);
    });
  });

  describe('revoking', () => {
    it('is told to every process after the commit', async () => {
      revoked = [{ id: 'k1' }, { id: 'k2' }];
      expect(await service.revoke('a', ID)).toEqual(['k1', 'k2']);
      expect(steps).toEqual([['revoke', ID, 'a', false], ['commit'], ['announce', 'a']]);
    });

    it('with descendants waits for keys that are being made', async () => {
      revoked = [{ id: 'k1' }];
      await service.revoke('a', ID, { descendants: true });
      expect(steps.slice(0, 2)).toEqual([
        ['lock', ['api_keys:a']],
        ['revoke', ID, 'a', true],
      ]);
    });

    it('of nothing is 404 and changes nothing', async () => {
      await expect(service.revoke('a', ID)).rejects.toThrow(NotFoundError);
      await expect(service.revoke('a', 'no-id')).rejects.toThrow(NotFoundError);
      expect(steps).toEqual([['revoke', ID, 'a', false]]);
    });
  });

  it.each([
    [null, null, 'active'],
    [null, at(1), 'active'],
    [null, at(0), 'expired'],
    [at(0), null, 'revoked'],
    [at(0), at(-1), 'revoked'],
  ])('a key revoked at %s that expires at %s is %s (D12)', (revokedAt, expiresAt, status) => {
    expect(statusOf({ revokedAt, expiresAt }, NOW)).toBe(status);
  });
});
