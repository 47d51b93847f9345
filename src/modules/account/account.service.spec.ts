import type { FindManyOptions, Repository } from 'typeorm';
import type { CredentialVersionsService } from '../../access/credential-versions.service.js';
import type { DatabaseService } from '../../platform/database/database.service.js';
import { ConflictError, InvalidRequestError, NotFoundError } from '../../platform/errors/errors.js';
import type { UsageService } from '../recordings/usage-counters/usage.service.js';
import type { Account } from './account.entity.js';
import { type AccountChanges, AccountService } from './account.service.js';

const ID = '01900000-0000-7000-8000-000000000001';
const NOW = new Date('2026-11-22T10:00:00Z');
const NEW = { name: 'Acme', email: 'Ops@Acme.example', plan: 'enterprise', rateLimit: null, burstLimit: null };
const ACCOUNT = {
  ...NEW,
  id: ID,
  status: 'suspended',
  quotas: { storedBytes: 5 },
  finishQueue: true,
  testOf: null,
  credentialVersion: 3,
} as unknown as Account;

describe('AccountService', () => {
  let account: Account | null;
  let sameEmail: Partial<Account> | null;
  let pages: Account[][];
  let testId: string | null;
  let steps: unknown[][];
  let service: AccountService;

  beforeEach(() => {
    jest.useFakeTimers({ now: NOW });
    [account, sameEmail, pages, testId, steps] = [ACCOUNT, null, [], null, []];
    const later = async (...step: unknown[]): Promise<void> => {
      await Promise.resolve();
      steps.push(step);
    };
    const tx = {
      query: async (_: string, given: unknown[]) => await later('query', ...given),
      prepared: async (sql: string, given: unknown[]) =>
        await (sql.includes('audit_entries') ? later('audit') : later('lock', ...given)),
      manager: {
        findOne: async (_: unknown, { order }: { order?: object }) => {
          if (!order) return account;
          await later('same e-mail', order);
          return sameEmail;
        },
        insert: async (_: unknown, row: object) => await later('insert', row),
        update: async (_: unknown, where: object, row: object) => await later('update', where, row),
      },
    };
    const database = {
      async transact<T>(work: (transaction: unknown) => Promise<T>): Promise<T> {
        const result = await work(tx);
        steps.push(['commit']);
        return result;
      },
      prepared: async () => (account ? [account] : []),
      query: async () => [{ isTest: false, testId }],
    };
    const accounts = {
      findOneBy: async () => account,
      find: async (options: FindManyOptions<Account>) => {
        steps.push(['find', options]);
        return pages.shift() ?? [];
      },
      update: async (where: object, row: object) => await later('update', where, row),
    };
    const versions = {
      async change(accountId: string, work: (transaction: unknown) => Promise<unknown>): Promise<void> {
        await database.transact(work);
        await later('announce', accountId);
      },
      announce: async (accountId: string) => await later('announce', accountId),
    };
    service = new AccountService(
      accounts as unknown as Repository<Account>,
      { ofMonths: async (ids: string[], now: Date) => ids.map((id) => [id, now]) } as unknown as UsageService,
      database as unknown as DatabaseService,
      versions as unknown as CredentialVersionsService,
    );
  });

  afterEach(() => jest.useRealTimers());

  const names = () => steps.map(([name]) => name);
  const updated = () => steps.find(([name]) => name === 'update')?.[2];

  describe('what the guards know', () => {
    it('is the status, the limits and quotas in force, and the version', async () => {
      account = { ...ACCOUNT, rateLimit: 50, burstLimit: 60 };
      expect(await service.findAccess(ID)).toMatchObject({
        suspended: true,
        limit: { rate: 50, burst: 60 },
        quotas: { storedBytes: 5, concurrentUploads: 32 },
        version: 3,
      });
      account = { ...ACCOUNT, status: 'active' };
      expect(await service.findAccess(ID)).toMatchObject({ suspended: false });
    });

    it('is null for an account that is gone, and for what is no id', async () => {
      expect(await service.findAccess('no-id')).toBeNull();
      account = null;
      expect(await service.findAccess(ID)).toBeNull();
    });
  });

  describe('a new account', () => {
    it('is active, and made under the lock of its e-mail address, whatever its case', async () => {
      await service.create(NEW);
      expect(names()).toEqual(['lock', 'same e-mail', 'insert', 'audit', 'commit']);
      expect(steps[0]).toEqual(['lock', ['account-email:ops@acme.example']]);
      expect(steps[2]?.[1]).toMatchObject({ ...NEW, status: 'active', createdAt: NOW, updatedAt: NOW });
    });

    it('is refused when another has the address, which is named with its oldest account', async () => {
      sameEmail = { id: 'other', name: 'Other', email: 'ops@acme.example' };
      await expect(service.create(NEW)).rejects.toThrow(ConflictError);
      await expect(service.create(NEW)).rejects.toThrow('The account other ("Other") already has');
      expect(steps[1]).toEqual(['same e-mail', { createdAt: 'ASC', id: 'ASC' }]);
      expect(names()).not.toContain('insert');
      steps.length = 0;
      await service.create(NEW, { allowDuplicateEmail: true });
      expect(names()).toEqual(['insert', 'audit', 'commit']);
    });

    it.each([
      [100, 99, false],
      [100, 100, true],
      [5000, null, true],
      [null, 999, false],
    ])('with a rate of %s and a burst of %s is made: %s', async (rateLimit, burstLimit, isMade) => {
      const made = service.create({ ...NEW, rateLimit, burstLimit }).then(
        () => true,
        (error: unknown) => !(error instanceof InvalidRequestError),
      );
      expect(await made).toBe(isMade);
    });
  });

  describe('a change', () => {
    it('is told to every process after the commit', async () => {
      await service.update(ID, { name: 'New' });
      expect(names()).toEqual(['update', 'update', 'audit', 'commit', 'announce']);
      expect(steps[0]).toEqual(['update', { id: ID }, { name: 'New', updatedAt: NOW }]);
      expect(steps.at(-1)).toEqual(['announce', ID]);
    });

    it('is also that of the test account, but for the quotas, and told of both', async () => {
      testId = 'test';
      await service.update(ID, { status: 'active', quotas: { concurrentUploads: 1 } });
      expect(steps[1]).toEqual(['update', { testOf: ID }, { status: 'active', finishQueue: false, updatedAt: NOW }]);
      expect(steps.slice(-2)).toEqual([
        ['announce', ID],
        ['announce', 'test'],
      ]);
    });

    it('of a test account alone is refused, with the account to change', async () => {
      account = { ...ACCOUNT, testOf: 'live' };
      await expect(service.update(ID, { name: 'New' })).rejects.toThrow(
        'This is the test account of live. Change that.',
      );
      expect(steps).toEqual([]);
    });

    it.each<[AccountChanges, object]>([
      [{ status: 'active' }, { status: 'active', finishQueue: false }],
      [{ status: 'suspended' }, { status: 'suspended', finishQueue: false }],
      [
        { status: 'suspended', finishQueue: true },
        { status: 'suspended', finishQueue: true },
      ],
      [{ name: 'New', email: undefined }, { name: 'New' }],
      [{ rateLimit: null }, { rateLimit: null }],
      [
        { quotas: { concurrentUploads: null, storedBytes: undefined } },
        { quotas: { storedBytes: undefined, concurrentUploads: null } },
      ],
      [{ quotas: { concurrentUploads: 1 } }, { quotas: { storedBytes: 5, concurrentUploads: 1 } }],
    ])('of %j writes %j', async (changes, row) => {
      await service.update(ID, changes);
      expect(updated()).toStrictEqual({ ...row, updatedAt: NOW });
    });

    it('leaves no burst below the rate, with what the account has already', async () => {
      account = { ...ACCOUNT, burstLimit: 100 };
      await expect(service.update(ID, { rateLimit: 101 })).rejects.toThrow(
        'burst-limit must not be below the rate limit of 101',
      );
      account = { ...ACCOUNT, rateLimit: 100 };
      await expect(service.update(ID, { burstLimit: 99 })).rejects.toThrow(InvalidRequestError);
      expect(steps).toEqual([]);
    });

    it('of an account that is gone is 404', async () => {
      account = null;
      await expect(service.update(ID, { name: 'New' })).rejects.toThrow(NotFoundError);
      expect(steps).toEqual([]);
    });

    it('of the speakers is stored as a number, or as none', async () => {
      expect([await service.setSpeakers(ID, 'auto'), await service.setSpeakers(ID, 3)]).toEqual([0, 3]);
      expect(await service.setSpeakers(ID, null)).toBeNull();
      const updates = steps.filter(([name]) => name === 'update');
      const stored = updates.map(([, , changes]) => (changes as { speakers: unknown }).speakers);
      expect(stored).toEqual([0, 3, null]);
    });

    it('of the vocabulary replaces it', async () => {
      await service.setVocabulary(ID, ['a']);
      expect(steps).toEqual([['update', { id: ID }, { vocabulary: ['a'], updatedAt: NOW }], ['audit'], ['commit']]);
    });
  });

  it('reads all accounts but test accounts in the order of their ids, 200 at a time, until a page is not full', async () => {
    const page = (count: number, last: string) =>
      Array.from({ length: count }, (_, i) => ({ id: i === count - 1 ? last : '' }) as Account);
    pages = [page(200, 'x'), page(199, 'y'), page(1, 'z')];
    const sizes: number[] = [];
    for await (const { length } of service.pages()) sizes.push(length);
    expect(sizes).toEqual([200, 199]);
    expect(steps).toMatchObject([
      ['find', { where: { testOf: { type: 'isNull' } }, order: { id: 'ASC' }, take: 200 }],
      ['find', { where: { id: { type: 'moreThan', value: 'x' } }, order: { id: 'ASC' }, take: 200 }],
    ]);
  });

  it('has its usage of this month and the one before', async () => {
    expect(await service.usage(ID)).toEqual([ID, NOW]);
  });
});
