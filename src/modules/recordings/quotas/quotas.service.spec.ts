import type { Quotas } from '../../../access/plans.js';
import type { DatabaseService, Tx } from '../../../platform/database/database.service.js';
import { QuotaExceededError } from '../../../platform/errors/errors.js';
import type { QuotaRefusalsService } from './quota-refusals.service.js';
import type { QuotaUsage } from './quota-rules.js';
import { QuotasService } from './quotas.service.js';
import type { UploadSlotsService } from './upload-slots.service.js';

const MAX_FILE_BYTES = 26_214_400;
const NOTHING = { bytes: 0, monthMs: 0, queuedMs: 0 };
const UNUSED: QuotaUsage = { storedBytes: 0, monthMs: 0, queuedMs: 0 };
const UNLIMITED: Quotas = {
  storedBytes: null,
  audioSecondsPerMonth: null,
  queuedAudioSeconds: null,
  concurrentUploads: null,
};
const QUOTAS: Quotas = { ...UNLIMITED, storedBytes: 100 * MAX_FILE_BYTES, concurrentUploads: 3 };

const reservation = (accountId: string, bytes = 0, durationMs = 0) => ({
  objectKey: `key of ${accountId}`,
  accountId,
  bytes,
  durationMs,
});

describe('QuotasService (D32)', () => {
  let usage: Record<string, Partial<QuotaUsage>>;
  /** Accounts and month of each statement. */
  let statements: [accounts: string[], month: string][];
  /** What was sent in a transaction, in order. */
  let inTx: unknown[][];
  let refused: string[];
  let committed: Promise<void>;
  let service: QuotasService;

  beforeEach(() => {
    jest.useFakeTimers({ now: new Date('2026-12-31T23:59:59Z'), doNotFake: ['nextTick', 'performance'] });
    // The clock of lru-cache.
    jest.spyOn(performance, 'now').mockImplementation(() => Date.now());
    [usage, statements, inTx, refused, committed] = [{}, [], [], [], Promise.resolve()];
    const prepared = async (_: string, [accounts, month]: [string[], string]) => {
      statements.push([accounts, month]);
      return accounts.map((id, i) => ({ position: i + 1, ...UNUSED, ...usage[id] })).toReversed();
    };
    const transact = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
      const result = await work(txOf());
      await committed;
      return result;
    };
    service = new QuotasService(
      { prepared, transact } as unknown as DatabaseService,
      { count: (quota: string) => void refused.push(quota) } as unknown as QuotaRefusalsService,
      { count: async (id: string) => (id === 'a' ? 2 : 0) } as unknown as UploadSlotsService,
    );
  });

  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  const txOf = (): Tx =>
    ({
      prepared: async (sql: string, given: unknown[]) => {
        await Promise.resolve();
        inTx.push([/pg_advisory_xact_lock/.exec(sql)?.[0] ?? sql.trim().split(' ')[0], ...given]);
        return (given[0] as string[]).map((id, i) => ({ position: i + 1, ...UNUSED, ...usage[id] }));
      },
    }) as unknown as Tx;

  it('tells what an account has used, and its uploads under way', async () => {
    usage = { a: { storedBytes: 1, monthMs: 2, queuedMs: 3 } };
    expect(await service.overview('a')).toEqual({ storedBytes: 1, monthMs: 2, queuedMs: 3, concurrentUploads: 2 });
    expect(statements).toEqual([[['a'], '2026-12-01']]);
  });

  it('reads many accounts at once, each of them once, and mixes none up', async () => {
    usage = { a: { storedBytes: 1 }, b: { storedBytes: 2 }, c: { storedBytes: 3 } };
    const first = service.overview('a');
    await jest.advanceTimersByTimeAsync(0);
    const found = await Promise.all([first, ...['c', 'b', 'c', 'a'].map((id) => service.overview(id))]);
    expect(found.map(({ storedBytes }) => storedBytes)).toEqual([1, 3, 2, 3, 1]);
    expect(statements.every(([ids]) => new Set(ids).size === ids.length)).toBe(true);
  });

  it('asks nothing where nothing is counted', async () => {
    const quotas = { ...UNLIMITED, concurrentUploads: 1 };
    expect(await service.findRefusal('a', quotas, 1e12)).toBeNull();
    await service.reserve(reservation('a'), quotas);
    await service.enforce(txOf(), 'a', quotas, NOTHING);
    expect(statements).toEqual([]);
    expect(inTx.map(([kind]) => kind)).toEqual(['INSERT']);
  });

  it.each<keyof Quotas>(['storedBytes', 'audioSecondsPerMonth', 'queuedAudioSeconds'])(
    'asks where %s alone is limited',
    async (quota) => {
      await service.findRefusal('a', { ...UNLIMITED, [quota]: 1 }, 0);
      expect(statements).toHaveLength(1);
    },
  );

  describe('before the body of an upload is read', () => {
    it('finds what is certain not to fit, and counts no refusal yet', async () => {
      usage = { a: { storedBytes: QUOTAS.storedBytes as number } };
      expect(await service.findRefusal('a', QUOTAS, 0)).toBeInstanceOf(QuotaExceededError);
      usage = { a: { storedBytes: (QUOTAS.storedBytes as number) - 10 } };
      expect(await service.findRefusal('a', QUOTAS, 11)).toBeInstanceOf(QuotaExceededError);
      expect(await service.findRefusal('a', QUOTAS, 10)).toBeNull();
      expect(refused).toEqual([]);
    });

    it('asks for no audio, whose length is not known yet', async () => {
      usage = { a: { monthMs: 59_999.5, queuedMs: 9999.5 } };
      const quotas = { ...UNLIMITED, audioSecondsPerMonth: 60, queuedAudioSeconds: 10 };
      expect(await service.findRefusal('a', quotas, 1000)).toBeNull();
    });

    it('does not look again for 2 s at an account that had room, as long as it had room for this one', async () => {
      await service.findRefusal('a', QUOTAS, 1);
      await jest.advanceTimersByTimeAsync(1999);
      await service.findRefusal('a', QUOTAS, 1);
      expect(statements).toHaveLength(1);
      await service.findRefusal('b', QUOTAS, 1);
      await service.findRefusal('a', QUOTAS, 200 * MAX_FILE_BYTES);
      expect(statements).toHaveLength(3);
      await jest.advanceTimersByTimeAsync(2001);
      await service.findRefusal('a', QUOTAS, 1);
      expect(statements).toHaveLength(4);
    });

    it('looks again at an account that had none: a recording may be gone', async () => {
      usage = { a: { storedBytes: QUOTAS.storedBytes as number } };
      await service.findRefusal('a', QUOTAS, 1);
      usage = {};
      expect(await service.findRefusal('a', QUOTAS, 1)).toBeNull();
    });
  });

  describe('a reservation', () => {
    const FULL = { storedBytes: QUOTAS.storedBytes as number };

    it('is compared and written behind a lock of the account, and is there once that is committed', async () => {
      let commit = (): void => undefined;
      committed = new Promise((resolve) => (commit = resolve));
      let isReserved = false;
      const reserving = service.reserve(reservation('a', 5, 700), QUOTAS).then(() => (isReserved = true));
      await jest.advanceTimersByTimeAsync(1);
      expect(inTx).toEqual([
        ['pg_advisory_xact_lock', ['quotas:a']],
        ['SELECT', ['a'], '2026-12-01', 1],
        ['INSERT', ['key of a'], ['a'], [5], [700], 3600],
      ]);
      expect([isReserved, statements]).toEqual([false, []]);
      commit();
      await reserving;
    });

    it('that does not fit is refused, counted and not written', async () => {
      usage = { a: FULL };
      await expect(service.reserve(reservation('a'), QUOTAS)).rejects.toThrow(QuotaExceededError);
      expect(refused).toEqual(['stored_bytes']);
      expect(inTx.map(([kind]) => kind)).toEqual(['pg_advisory_xact_lock', 'SELECT']);
    });

    it('counts for those that share its transaction, each account by itself', async () => {
      usage = { a: { queuedMs: 1000 } };
      const quotas = { ...UNLIMITED, queuedAudioSeconds: 3 };
      const sent = ['c', 'a', 'a', 'b', 'a'].map((id) => service.reserve(reservation(id, 1, 1000), quotas));
      const outcomes = await Promise.allSettled(sent);
      expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual([true, true, true, true, false]);
      const inserted = inTx.filter(([kind]) => kind === 'INSERT').flatMap(([, , accounts]) => accounts as string[]);
      expect(inserted.toSorted()).toEqual(['a', 'a', 'b', 'c']);
      expect(inTx.filter(([kind]) => kind === 'INSERT').length).toBeLessThan(4);
    });
  });

  it('what needs room without an upload is compared in its transaction, behind the same lock', async () => {
    await service.enforce(txOf(), 'a', QUOTAS, NOTHING);
    expect(inTx).toEqual([
      ['pg_advisory_xact_lock', ['quotas:a']],
      ['SELECT', ['a'], '2026-12-01', 1],
    ]);
    usage = { a: { storedBytes: QUOTAS.storedBytes as number } };
    await expect(service.enforce(txOf(), 'a', QUOTAS, NOTHING)).rejects.toThrow(QuotaExceededError);
    expect(refused).toEqual(['stored_bytes']);
  });

  it('counts no refusal where there is none', () => {
    service.refuse(null);
    expect(refused).toEqual([]);
  });
});
