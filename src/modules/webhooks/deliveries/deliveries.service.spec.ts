import type { Repository } from 'typeorm';
import type { Env } from '../../../platform/config/env.js';
import type { DatabaseService, Tx } from '../../../platform/database/database.service.js';
import type { SecurityLogService } from '../../../platform/observability/security-log.service.js';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import type { DeliveryOutcome } from '../sending/webhook-sender.service.js';
import type { Webhook } from '../webhook.entity.js';
import type { ClaimedDelivery } from './deliveries.queries.js';
import { delayOfNextAttempt, DeliveriesService, type DeliveryJob } from './deliveries.service.js';
import type { Delivery } from './delivery.entity.js';

/** Deliveries changed by one statement. */
const BATCH = 1000;
const FAILURE: DeliveryOutcome = {
  status: 500,
  errorKind: null,
  error: null,
  response: '',
  retryAfter: null,
  durationMs: 1,
};
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const DELIVERY = { id: 'd', leaseToken: 'l', webhookId: 'w', attempt: 1, attemptsBefore: 0 } as ClaimedDelivery;

describe('DeliveriesService', () => {
  /** Rows that are left for statements with a LIMIT. */
  let left: number;
  /** Parameters of each statement with a LIMIT. */
  let limited: unknown[][];
  let transact: jest.Mock;

  const query = async (sql: string, parameters: unknown[] = []): Promise<unknown[]> => {
    if (sql.includes('RECURSIVE')) return [{ id: 'a' }, { id: 'b' }];
    if (sql.includes('FOR NO KEY UPDATE')) {
      return [{ id: 'w', status: 'active', consecutiveFailures: 0, failingSeconds: null }];
    }
    if (sql.includes('delivery_attempts')) return [{ number: 1 }];
    limited.push(parameters);
    const count = Math.min(left, parameters[1] as number);
    left -= count;
    return Array.from({ length: count }, () => ({}));
  };
  const tx = {
    query,
    manager: { update: async () => undefined },
    afterCommit: (task: () => void) => task(),
  } as unknown as Tx;

  function service(webhookRetrySchedule: number[] = [60]): DeliveriesService {
    return new DeliveriesService(
      {} as Repository<Delivery>,
      {} as Repository<Webhook>,
      { query, transact } as unknown as DatabaseService,
      {} as JobQueue<DeliveryJob>,
      { webhookRetrySchedule } as unknown as Env,
      {} as SecurityLogService,
    );
  }

  beforeEach(() => {
    [left, limited] = [0, []];
    transact = jest.fn(async (work: (inner: Tx) => Promise<unknown>) => await work(tx));
  });

  afterEach(() => jest.restoreAllMocks());

  it('saves eight failures at a time, so that successes and requests find connections', async () => {
    const ends: (() => void)[] = [];
    transact.mockImplementation(() => new Promise<void>((resolve) => ends.push(resolve)));
    const deliveries = service();
    const all = Promise.all(Array.from({ length: 20 }, () => deliveries.record(DELIVERY, FAILURE)));
    const open: number[] = [];
    for (let saved = 0; saved < 20; saved++) {
      await new Promise((resolve) => setImmediate(resolve));
      open.push(ends.length);
      ends.shift()?.();
    }
    await all;
    expect(open).toEqual([...Array.from({ length: 13 }, () => 8), 7, 6, 5, 4, 3, 2, 1]);
  });

  it('tells in how many milliseconds the next attempt is due', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0.5);
    expect(await service([60]).record(DELIVERY, FAILURE)).toBe(60_000);
    expect(await service([]).record(DELIVERY, FAILURE)).toBeNull();
  });

  it('fails the rest of each disabled webhook in batches', async () => {
    left = BATCH + 1;
    await service().failRemaining();
    expect(limited).toEqual([
      ['a', BATCH],
      ['a', BATCH],
      ['b', BATCH],
    ]);
  });

  it('fails one batch together with the change that disables a webhook', async () => {
    left = BATCH + 1;
    await service().failPending(tx, 'w');
    expect(limited).toEqual([['w', BATCH]]);
  });
});

describe('DeliveriesService and deliveries that succeeded', () => {
  /** Open statements: the ids they update, and how they end: with the updated ids or with an error. */
  let statements: { ids: string[]; end: (saved: string[] | Error) => Promise<void> }[];
  let deliveries: DeliveriesService;

  beforeEach(() => {
    statements = [];
    const prepared = (_sql: string, [ids]: unknown[]) =>
      new Promise<unknown[]>((resolve, reject) => {
        const finish = (saved: string[] | Error): Promise<void> => {
          if (saved instanceof Error) reject(saved);
          else resolve(saved.map((id) => ({ id })));
          return settled();
        };
        statements.push({ ids: ids as string[], end: finish });
      });
    deliveries = new DeliveriesService(
      {} as Repository<Delivery>,
      {} as Repository<Webhook>,
      { prepared } as unknown as DatabaseService,
      {} as JobQueue<DeliveryJob>,
      {} as Env,
      {} as SecurityLogService,
    );
  });

  const save = (id: string) => deliveries.record({ ...DELIVERY, id }, { ...FAILURE, status: 200 });
  const end = (saved: string[] | Error) => statements.shift()?.end(saved);

  it('saves the first at once, and those that arrive meanwhile in one statement', async () => {
    const first = save('a');
    await settled();
    expect(statements.map(({ ids }) => ids)).toEqual([['a']]);
    const others = Promise.all([save('b'), save('c')]);
    await settled();
    expect(statements).toHaveLength(1);
    await end(['a']);
    await first;
    expect(statements.map(({ ids }) => ids)).toEqual([['b', 'c']]);
    await end(['b', 'c']);
    await others;
  });

  it('delays no other delivery for a locked one', async () => {
    const [free, locked] = [save('a'), save('b')];
    await settled();
    await end(['a']);
    await free;
    expect(statements.map(({ ids }) => ids)).toEqual([['b']]);
    const next = save('c');
    await settled();
    expect(statements.map(({ ids }) => ids)).toEqual([['b'], ['c']]);
    await end([]);
    await locked;
    await end(['c']);
    await next;
  });

  it('rejects every delivery of a failed statement, and continues', async () => {
    const outcomes = Promise.allSettled([save('a'), save('b')]);
    await settled();
    await end(new Error('terminating connection'));
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(statements).toEqual([]);
    const again = save('a');
    await settled();
    await end(['a']);
    await again;
  });
});

const NOW = new Date('2026-11-21T10:00:00Z');
const SCHEDULE = [5, 300, 7200];

function delayMs(failed: Partial<Parameters<typeof delayOfNextAttempt>[0]>): number | null {
  return delayOfNextAttempt({
    attempt: 1,
    schedule: SCHEDULE,
    now: NOW,
    retryAfter: null,
    random: () => 0.5,
    ...failed,
  });
}

describe('delayOfNextAttempt', () => {
  it('uses each gap once: n gaps make n + 1 attempts', () => {
    expect([1, 2, 3, 4, 5].map((attempt) => delayMs({ attempt }))).toEqual([5000, 300_000, 7_200_000, null, null]);
    expect(delayMs({ schedule: [] })).toBeNull();
  });

  it('varies each gap by at most a fifth', () => {
    expect(delayMs({ attempt: 2, random: () => 0 })).toBe(240_000);
    expect(delayMs({ attempt: 2, random: () => 1 - Number.EPSILON })).toBeCloseTo(360_000, 3);
    for (let round = 0; round < 200; round += 1) {
      const ms = delayMs({ attempt: 2, random: undefined }) ?? 0;
      expect(ms).toBeGreaterThanOrEqual(240_000);
      expect(ms).toBeLessThanOrEqual(360_000);
    }
  });

  it.each([
    ['seconds', '120', 120_000],
    ['seconds with blanks around them', ' 120 ', 120_000],
    ['an HTTP date', 'Sat, 21 Nov 2026 10:02:00 GMT', 120_000],
    ['an hour at most, in seconds', '86400', 3_600_000],
    ['an hour at most, however large the number', '9'.repeat(400), 3_600_000],
    ['an hour at most, as a date', 'Sun, 22 Nov 2026 10:00:00 GMT', 3_600_000],
    ['the gap when that is later', '2', 5000],
    ['the gap when the date has passed', 'Sat, 21 Nov 2026 09:00:00 GMT', 5000],
    ['the gap when the date does not exist', 'Sat, 99 Nov 2026 10:02:00 GMT', 5000],
    ['the gap for words', 'soon', 5000],
    ['the gap for a negative number', '-120', 5000],
    ['the gap for a fraction', '120.5', 5000],
    ['the gap for nothing', '', 5000],
  ])('obeys Retry-After: %s', (_name, retryAfter, expected) => {
    expect(delayMs({ retryAfter })).toBe(expected);
  });

  it('never lets Retry-After shorten a gap or add an attempt', () => {
    expect(delayMs({ attempt: 3, retryAfter: '86400' })).toBe(7_200_000);
    expect(delayMs({ attempt: 4, retryAfter: '60' })).toBeNull();
  });
});
