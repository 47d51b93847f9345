import { Registry } from 'prom-client';
import type { Quotas } from '../../access/plans.js';
import type { DatabaseService, Tx } from '../../platform/database/database.service.js';
import { ConcurrentUploadsError, QuotaExceededError } from '../../platform/errors/errors.js';
import type { RedisService } from '../../platform/redis/redis.service.js';
import {
  countsUsage,
  monthStart,
  type QuotaDemand,
  quotaResetsAt,
  QuotasService,
  type QuotaUsage,
  refusalOf,
  withDemand,
} from './quotas.service.js';

const MAX_FILE_BYTES = 26_214_400;
const NOTHING: QuotaDemand = { bytes: 0, monthMs: 0, queuedMs: 0 };
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
  /** Plan and own quotas of the account. */
  let terms: object[];
  let committed: Promise<void>;
  let service: QuotasService;

  beforeEach(() => {
    jest.useFakeTimers({ now: new Date('2026-12-31T23:59:59Z'), doNotFake: ['nextTick', 'performance'] });
    // The clock of lru-cache.
    jest.spyOn(performance, 'now').mockImplementation(() => Date.now());
    [usage, statements, inTx, refused, committed] = [{}, [], [], [], Promise.resolve()];
    terms = [{ plan: 'free', quotas: {} }];
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
      { client: { defineCommand: () => undefined }, tryCommand: async () => null } as unknown as RedisService,
      new Registry(),
    );
    jest.spyOn(service, 'countRefusal').mockImplementation((quota) => void refused.push(quota));
  });

  afterEach(() => {
    service.onApplicationShutdown();
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
      query: async (_: string, [accountId]: [string]) => {
        inTx.push(['terms', accountId]);
        return terms;
      },
    }) as unknown as Tx;

  it('tells what an account has used, and its uploads under way', async () => {
    usage = { a: { storedBytes: 1, monthMs: 2, queuedMs: 3 } };
    for (const id of ['a', 'b', 'a']) await service.takeUploadSlot(id, 2);
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

  it.each<[what: string, usedMs: number, addedMs: number, fits: boolean]>([
    ['fits exactly', 35_990_000, 10_000, true],
    ['is a millisecond too long', 35_990_000, 10_001, false],
    ['comes to a full month', 36_000_000, 0, false],
  ])('tells, and counts nothing, whether audio of the month that %s', async (_, monthMs, addedMs, doesFit) => {
    usage = { a: { monthMs } };
    const now = new Date();
    expect(await service.fitsMonth(txOf(), 'a', now, addedMs)).toBe(doesFit);
    expect(inTx.map(([kind]) => kind)).toEqual(['terms', 'pg_advisory_xact_lock', 'SELECT']);
    expect(refused).toEqual([]);
  });

  it('asks nothing of an upload of an earlier month, nor for an account that is gone or without a limit', async () => {
    usage = { a: { monthMs: 36_000_000 } };
    expect(await service.fitsMonth(txOf(), 'a', new Date('2026-11-30T23:59:59Z'), 1)).toBe(true);
    expect(inTx).toEqual([]);
    for (terms of [[], [{ plan: 'enterprise', quotas: {} }]]) {
      expect(await service.fitsMonth(txOf(), 'a', new Date(), 1)).toBe(true);
    }
    expect(inTx.map(([kind]) => kind)).toEqual(['terms', 'terms']);
  });

  it('counts the uploads of this process while Redis is unavailable, by account, and a slot is freed once', async () => {
    const [free] = [await service.takeUploadSlot('a', 2), await service.takeUploadSlot('a', 2)];
    await expect(service.takeUploadSlot('a', 2)).rejects.toThrow(ConcurrentUploadsError);
    expect(refused).toEqual(['concurrent_uploads']);
    await service.takeUploadSlot('b', 2);
    free();
    free();
    await service.takeUploadSlot('a', 2);
    await expect(service.takeUploadSlot('a', 2)).rejects.toThrow(ConcurrentUploadsError);
  });

  it('counts no uploads of an account without a limit', async () => {
    for (let i = 0; i < 100; i++) await service.takeUploadSlot('c', null);
    expect(await service.overview('c')).toMatchObject({ concurrentUploads: 0 });
  });
});

const LIMITED: Quotas = { storedBytes: 1000, audioSecondsPerMonth: 60, queuedAudioSeconds: 10, concurrentUploads: 3 };
const NOW = new Date('2026-12-31T23:59:59.999Z');

describe('refusalOf (D32)', () => {
  it.each<[string, Partial<QuotaUsage>, Partial<QuotaDemand>]>([
    ['an unused account', {}, {}],
    ['the last byte', { storedBytes: 900 }, { bytes: 100 }],
    ['the last second of the month', { monthMs: 59_000 }, { monthMs: 1000 }],
    ['the last second of the queue', { queuedMs: 9000 }, { queuedMs: 1000 }],
  ])('lets in %s', (_, usage, demand) => {
    expect(refusalOf(LIMITED, { ...UNUSED, ...usage }, { ...NOTHING, ...demand }, NOW)).toBeNull();
  });

  it.each<[string, Partial<QuotaUsage>, Partial<QuotaDemand>, object]>([
    ['a byte too many', { storedBytes: 900 }, { bytes: 101 }, { quota: 'stored_bytes', limit: 1000, used: 900 }],
    ['anything when full', { storedBytes: 1000 }, {}, { quota: 'stored_bytes', limit: 1000, used: 1000 }],
    [
      'a millisecond too many in the month',
      { monthMs: 59_500 },
      { monthMs: 501 },
      { quota: 'audio_seconds_per_month', limit: 60, used: 59.5, resets_at: '2027-01-01T00:00:00' },
    ],
    [
      'the month before the queue, and the bytes before both',
      { storedBytes: 1000, monthMs: 60_000, queuedMs: 10_000 },
      {},
      { quota: 'stored_bytes', limit: 1000, used: 1000 },
    ],
    [
      'the month before the queue',
      { monthMs: 60_000, queuedMs: 10_000 },
      {},
      { quota: 'audio_seconds_per_month', limit: 60, used: 60, resets_at: '2027-01-01T00:00:00' },
    ],
    ['anything in a full queue', { queuedMs: 10_500 }, {}, { quota: 'queued_audio_seconds', limit: 10, used: 10.5 }],
    ['one too many in the queue', {}, { queuedMs: 10_001 }, { quota: 'queued_audio_seconds', limit: 10, used: 0 }],
  ])('refuses %s', (_, usage, demand, details) => {
    const refusal = refusalOf(LIMITED, { ...UNUSED, ...usage }, { ...NOTHING, ...demand }, NOW);
    expect(refusal?.details).toEqual({ resets_at: null, ...details });
  });

  it('refuses nothing where nothing is limited', () => {
    const much = { storedBytes: 1e15, monthMs: 1e15, queuedMs: 1e15 };
    expect(refusalOf(UNLIMITED, much, { bytes: 1e9, monthMs: 1e9, queuedMs: 1e9 }, NOW)).toBeNull();
  });
});

describe('withDemand', () => {
  it('adds each part to its own', () => {
    const usage = { storedBytes: 1, monthMs: 20, queuedMs: 300 };
    const demand = { bytes: 4, monthMs: 50, queuedMs: 600 };
    expect(withDemand(usage, demand)).toEqual({ storedBytes: 5, monthMs: 70, queuedMs: 900 });
  });
});

describe('countsUsage', () => {
  it.each<[keyof Quotas, boolean]>([
    ['storedBytes', true],
    ['audioSecondsPerMonth', true],
    ['queuedAudioSeconds', true],
    ['concurrentUploads', false],
  ])('where %s alone is limited: %s', (quota, counts) => {
    expect(countsUsage({ ...UNLIMITED, [quota]: 0 })).toBe(counts);
  });
});

describe('months', () => {
  it('are calendar months in UTC', () => {
    const first = new Date('2026-02-01T00:00:00Z');
    expect([monthStart(first), quotaResetsAt(first)]).toEqual(['2026-02-01', '2026-03-01T00:00:00']);
    expect([monthStart(NOW), quotaResetsAt(NOW)]).toEqual(['2026-12-01', '2027-01-01T00:00:00']);
  });
});
