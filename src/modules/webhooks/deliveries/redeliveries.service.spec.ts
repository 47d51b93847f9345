import { Logger } from '@nestjs/common';
import type { Repository } from 'typeorm';
import type { DatabaseService } from '../../../platform/database/database.service.js';
import type { DeliveriesService } from './deliveries.service.js';
import { RedeliveriesService, type RedeliveryPaceService } from './redeliveries.service.js';
import type { WebhookRedelivery } from './delivery.entity.js';

describe('RedeliveriesService.continueAll', () => {
  /** Batches that are left of each redelivery, the oldest first. */
  let left: Map<string, number>;
  let done: string[];
  let find: jest.Mock;
  let failing: string | null;
  let redeliveries: RedeliveriesService;

  beforeEach(() => {
    left = new Map();
    done = [];
    failing = null;
    find = jest.fn(async () => [...left.keys()].map((webhookId) => ({ webhookId })));
    redeliveries = new RedeliveriesService(
      { transact: async (work: (tx: object) => unknown) => await work({}) } as unknown as DatabaseService,
      { find } as unknown as Repository<WebhookRedelivery>,
      {} as DeliveriesService,
      {} as RedeliveryPaceService,
    );
    redeliveries['runBatch'] = async (_tx, webhookId) => {
      if (webhookId === failing) throw new Error('deadlock');
      done.push(webhookId);
      const batches = (left.get(webhookId) ?? 0) - 1;
      left.set(webhookId, batches);
      return batches > 0;
    };
  });
  afterEach(() => jest.restoreAllMocks());

  it('takes a batch of each in turn until all have ended, the oldest first', async () => {
    left = new Map([
      ['a', 3],
      ['b', 1],
      ['c', 2],
    ]);
    await redeliveries.continueAll();
    expect(done.join('')).toBe('abcaca');
    expect(find.mock.calls).toEqual([[{ select: { webhookId: true }, order: { startedAt: 'ASC' }, take: 50 }]]);
  });

  it('ends a round after 50 batches', async () => {
    left = new Map([['a', 1000]]);
    await redeliveries.continueAll();
    expect(done).toHaveLength(50);
  });

  it('leaves one that fails to the next round, and tells the operator', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    left = new Map([
      ['a', 2],
      ['b', 2],
    ]);
    failing = 'a';
    await redeliveries.continueAll();
    expect(done.join('')).toBe('bb');
    expect(warn.mock.calls).toEqual([[{ err: new Error('deadlock'), webhook_id: 'a' }, 'redelivery batch failed']]);
  });
});
