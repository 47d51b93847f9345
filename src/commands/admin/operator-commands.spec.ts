import type { INestApplicationContext } from '@nestjs/common';
import { SCOPES } from '../../access/scopes.js';
import { AccountService } from '../../modules/account/account.service.js';
import { ApiKeysService } from '../../modules/api-keys/api-keys.service.js';
import { CounterAuditService } from '../../modules/recordings/usage-counters/counter-audit.service.js';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import { createAccount, createKey, listKeys, revokeKey, suspendAccount, updateAccount } from './account-commands.js';
import { rebuildCounters, verifyCounters } from './maintenance-commands.js';

const TIME = new Date('2026-11-22T10:00:00Z');
const keyOf = (id: string) => ({
  id,
  accountId: 'account',
  name: 'Key',
  key: 'vnk_x',
  scopes: SCOPES,
  createdAt: TIME,
  updatedAt: TIME,
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: null,
});
const ACCOUNT = {
  id: 'account',
  name: 'A',
  email: 'a@example.com',
  plan: 'free',
  status: 'active',
  createdAt: TIME,
  updatedAt: TIME,
};
const USAGE = { recordings: 0, seconds: 0, bytes: 0 };

describe('the commands of an operator (D30)', () => {
  let log: [event: string, fields: Record<string, unknown>][];
  let accounts: Record<string, jest.Mock>;
  let keys: Record<string, jest.Mock>;
  let audit: Record<string, jest.Mock>;
  let app: INestApplicationContext;

  beforeEach(() => {
    log = [];
    accounts = {
      get: jest.fn(async (id: string) => ({ ...ACCOUNT, id })),
      create: jest.fn(async () => ACCOUNT),
      update: jest.fn(async () => ACCOUNT),
      usage: jest.fn(async () => [USAGE, USAGE]),
      pages: jest.fn(async function* () {
        yield [{ id: 'a' }, { id: 'b' }];
        yield [{ id: 'c' }];
      }),
    };
    keys = {
      create: jest.fn(async () => ({ key: keyOf('key'), secret: 'vns_x' })),
      list: jest.fn(),
      ownerOf: jest.fn(async () => 'account'),
      get: jest.fn(async (_account: string, id: string) => keyOf(id)),
      revoke: jest.fn(async () => ['below', 'key']),
    };
    audit = { differences: jest.fn(async () => []), breakdownDifferences: jest.fn(async () => []), rebuild: jest.fn() };
    const services = new Map<unknown, unknown>([
      [AccountService, accounts],
      [ApiKeysService, keys],
      [CounterAuditService, audit],
      [SecurityLogService, { record: (event: string, fields: Record<string, unknown>) => log.push([event, fields]) }],
    ]);
    app = { get: (type: unknown) => services.get(type) } as INestApplicationContext;
  });

  const by = { by: 'operator' };

  it('account:create makes a first key with every scope, and both are security events', async () => {
    await createAccount(app, { name: 'A', email: 'a@example.com' });
    expect(accounts.create?.mock.calls[0]?.[0]).toEqual({
      name: 'A',
      email: 'a@example.com',
      plan: 'free',
      rateLimit: null,
      burstLimit: null,
    });
    expect(keys.create?.mock.calls).toEqual([['account', { keyId: null, scopes: SCOPES }, { name: 'First key' }]]);
    expect(log).toEqual([
      ['account created', expect.objectContaining({ ...by, account_id: 'account' })],
      ['api key created', expect.objectContaining({ ...by, account_id: 'account', key_id: 'key', scopes: SCOPES })],
    ]);
  });

  it('account:update names the fields that it was given, and no others', async () => {
    await updateAccount([])(app, { account: 'account', name: 'B' });
    await updateAccount([])(app, { account: 'account', storedBytes: 'plan', concurrentUploads: 3 });
    expect(log.map(([, { fields }]) => fields)).toEqual([['name'], ['concurrentUploads']]);
    expect(accounts.update?.mock.calls[1]).toMatchObject([
      'account',
      { quotas: { storedBytes: undefined, concurrentUploads: 3 } },
    ]);
  });

  it.each([{ rateLimit: 5 }, { burstLimit: 5 }])('%j needs a plan with limits of its own', async (limits) => {
    await expect(createAccount(app, { name: 'A', email: 'a@example.com', ...limits })).rejects.toThrow(
      'The plan free has fixed limits.',
    );
    expect(accounts.create).not.toHaveBeenCalled();
  });

  it('account:suspend holds the queue unless it is told to finish it', async () => {
    await suspendAccount(app, { account: 'account' });
    await suspendAccount(app, { account: 'account', finishQueue: true });
    expect(accounts.update?.mock.calls).toEqual([
      ['account', { status: 'suspended', finishQueue: false }],
      ['account', { status: 'suspended', finishQueue: true }],
    ]);
    expect(log[0]).toEqual(['account changed', expect.objectContaining({ account_id: 'account', fields: ['status'] })]);
  });

  it('key:create has a name of its own and every scope by default, and is a security event', async () => {
    await createKey(app, { account: 'account' });
    const maker = { keyId: null, scopes: SCOPES };
    const fields = { name: 'Created by the operator', scopes: undefined, expires_at: undefined };
    expect(keys.create?.mock.calls).toEqual([['account', maker, fields]]);
    expect(log).toEqual([
      ['api key created', expect.objectContaining({ account_id: 'account', key_id: 'key', scopes: SCOPES })],
    ]);
  });

  it('key:list shows every page of keys, and the test keys', async () => {
    const pages = [[keyOf('a'), keyOf('b')], [keyOf('c')], []];
    keys.list?.mockImplementation(async (_: string, { page, mode }: { page: number; mode: string }) =>
      mode === 'test' ? { items: [keyOf('t')], total: 1 } : { items: pages[page], total: 4 },
    );
    const { api_keys: shown } = (await listKeys(app, { account: 'account' })) as { api_keys: { id: string }[] };
    expect(shown.map(({ id }) => id)).toEqual(['a', 'b', 'c', 't']);
    const live = [0, 1, 2].map((page) => ({ page, limit: 1000, mode: 'live' }));
    expect(keys.list?.mock.calls.map(([, query]) => query)).toEqual([...live, { page: 0, limit: 1000, mode: 'test' }]);
  });

  it('key:revoke logs every key that it revoked, and lists those below only when asked', async () => {
    expect(Object.keys(await revokeKey(app, { key: 'key' }))).not.toContain('revoked_descendants');
    const below = await revokeKey(app, { key: 'key', descendants: true });
    expect(below).toMatchObject({ id: 'key', revoked_descendants: ['below'] });
    expect(keys.revoke?.mock.calls[1]).toEqual(['account', 'key', { descendants: true }]);
    expect(log.slice(2).map(([event, { key_id: id }]) => [event, id])).toEqual([
      ['api key revoked', 'below'],
      ['api key revoked', 'key'],
    ]);
  });

  describe('counters', () => {
    let code: typeof process.exitCode;

    beforeEach(() => {
      code = process.exitCode;
    });
    afterEach(() => {
      process.exitCode = code;
    });

    it('counters:verify names each difference without end users, and has exit code 1 for any', async () => {
      expect(await verifyCounters(app, {})).toEqual({ accounts_verified: 3, differences: [] });
      expect(process.exitCode).toBe(code);
      const figures = { day: '2026-11-22', figure: 'bytes', counted: 1, actual: 2 };
      audit.breakdownDifferences?.mockResolvedValue([
        { dimension: 'key', value: 'k', ...figures },
        { dimension: 'key', value: '', ...figures },
        { dimension: 'user', value: 'Zoë', ...figures },
      ]);
      expect(await verifyCounters(app, { account: 'a' })).toEqual({
        accounts_verified: 1,
        differences: [
          { account_id: 'a', by: 'key', key_id: 'k', ...figures },
          { account_id: 'a', by: 'key', key_id: null, ...figures },
          { account_id: 'a', by: 'user', ...figures },
        ],
      });
      expect(process.exitCode).toBe(1);
    });

    it('counters:verify names any number of differences', async () => {
      const figures = { day: '2026-11-22', figure: 'bytes', counted: 1, actual: 2 };
      audit.breakdownDifferences?.mockResolvedValue(
        Array.from({ length: 200_000 }, () => ({ dimension: 'user', value: 'Zoë', ...figures })),
      );
      const { differences } = (await verifyCounters(app, { account: 'a' })) as { differences: object[] };
      expect(differences).toHaveLength(200_000);
    });

    it('counters:rebuild names the accounts that it corrected', async () => {
      audit.rebuild?.mockImplementation(async (id: string) => (id === 'b' ? 2 : 0));
      expect(await rebuildCounters(app, {})).toEqual({
        accounts_rebuilt: 3,
        corrected: [{ account_id: 'b', days_corrected: 2 }],
      });
    });
  });
});
