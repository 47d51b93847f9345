import type { Repository } from 'typeorm';
import type { Env } from '../../../platform/config/env.js';
import type { DatabaseService, Tx } from '../../../platform/database/database.service.js';
import type { SecurityLogService } from '../../../platform/observability/security-log.service.js';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import type { DeliveryOutcome } from '../sending/webhook-sender.service.js';
import type { Webhook } from '../webhook.entity.js';
import type { ClaimedDelivery } from './deliveries.queries.js';
import type { DeliveryJob } from './deliveries.queue.js';
import { DeliveriesService } from './deliveries.service.js';
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
