import type { Repository } from 'typeorm';
import type { AccountPair } from '../../access/accounts.queries.js';
import type { CredentialVersionsService } from '../../access/credential-versions.service.js';
import type { DatabaseService } from '../../platform/database/database.service.js';
import {
  AuthenticationError,
  LimitExceededError,
  NotFoundError,
  PermissionError,
} from '../../platform/errors/errors.js';
import type { SecretsService } from '../../platform/secrets.service.js';
import { ApiKey, statusOf } from './api-key.entity.js';
import { ApiKeysService } from './api-keys.service.js';

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
  let pair: AccountPair;
  let service: ApiKeysService;

  beforeEach(() => {
    jest.useFakeTimers({ now: NOW });
    [steps, active, maker, inserted, revoked] = [[], 0, { expiresAt: null, allowedAddresses: null }, [], []];
    pair = { isTest: false, testId: null };
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
      prepared: async (sql: string, given: unknown[]) =>
        sql.includes('audit_entries') ? log('audit', () => [])() : log('lock', () => [])(...given),
      query: async (_: string, given: unknown[]) => log('revoke', () => revoked)(...given),
    };
    const database = {
      async transact<T>(work: (transaction: unknown) => Promise<T>): Promise<T> {
        const result = await work(tx);
        steps.push(['commit']);
        return result;
      },
      async query(sql: string): Promise<unknown[]> {
        if (sql.includes('create_test_account')) pair = { isTest: false, testId: 'test' };
        return [pair];
      },
    };
    const secrets = { hash: (secret: string) => `hash of ${secret}` };
    const versions = {
      async change<T>(accountId: string, work: (transaction: unknown) => Promise<T>): Promise<T> {
        const result = await database.transact(work);
        steps.push(['announce', accountId]);
        return result;
      },
      announce: async (accountId: string) => void steps.push(['announce', accountId]),
    };
    service = new ApiKeysService(
      { create: (row: object) => Object.assign(new ApiKey(), row) } as unknown as Repository<ApiKey>,
      database as unknown as DatabaseService,
      secrets as unknown as SecretsService,
      versions as unknown as CredentialVersionsService,
    );
  });

  afterEach(() => jest.useRealTimers());

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
      expect(steps.map(([name]) => name)).toEqual(['lock', 'count', 'maker', 'audit', 'insert', 'commit']);
      expect(steps[0]).toEqual(['lock', ['api_keys:a']]);
      expect(steps[2]?.[1]).toMatchObject({ id: 'maker', accountId: 'a', revokedAt: expect.anything() });
    });

    it('of the mode test is in the test account, which the first creates, and capped by its maker in the other', async () => {
      const { key } = await service.create('a', MAKER, { name: 'n', mode: 'test' });
      expect(key.accountId).toBe('test');
      expect(key.key).toMatch(/^vnk_test_[0-9A-Za-z]{24}$/);
      expect(steps[0]).toEqual(['lock', ['api_keys:test']]);
      expect(steps[2]?.[1]).toMatchObject({ id: 'maker', accountId: 'a' });
    });

    it('of a test key is another test key, and no live one', async () => {
      pair = { isTest: true, testId: null };
      const { key } = await service.create('a', MAKER, { name: 'n' });
      expect([key.accountId, key.keyPrefix.slice(0, 9)]).toEqual(['a', 'vnk_test_']);
      await expect(service.create('a', MAKER, { name: 'n', mode: 'live' })).rejects.toThrow(
        'mode must be test for a test key.',
      );
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
      expect(steps).toEqual([['revoke', ID, ['a'], false], ['audit'], ['commit'], ['announce', 'a']]);
    });

    it('reaches the test keys of the account, with their versions and under their lock', async () => {
      pair = { isTest: false, testId: 'test' };
      revoked = [{ id: 'k1' }];
      await service.revoke('a', ID, { descendants: true });
      expect(steps).toEqual([
        ['lock', ['api_keys:a', 'api_keys:test']],
        ['revoke', ID, ['a', 'test'], true],
        ['audit'],
        ['commit'],
        ['announce', 'a'],
        ['announce', 'test'],
      ]);
    });

    it('with descendants waits for keys that are being made', async () => {
      revoked = [{ id: 'k1' }];
      await service.revoke('a', ID, { descendants: true });
      expect(steps.slice(0, 2)).toEqual([
        ['lock', ['api_keys:a']],
        ['revoke', ID, ['a'], true],
      ]);
    });

    it('of nothing is 404 and changes nothing', async () => {
      await expect(service.revoke('a', ID)).rejects.toThrow(NotFoundError);
      await expect(service.revoke('a', 'no-id')).rejects.toThrow(NotFoundError);
      expect(steps).toEqual([['revoke', ID, ['a'], false]]);
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
