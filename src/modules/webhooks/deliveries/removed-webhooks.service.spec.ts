import type { Repository } from 'typeorm';
import type { DatabaseService, Tx } from '../../../platform/database/database.service.js';
import type { RemovedWebhook } from '../webhook.entity.js';
import { RemovedWebhooksService } from './removed-webhooks.service.js';

/** Deliveries deleted by one statement, and how often it is repeated in a round of the reconciler. */
const [BATCH, ROUNDS] = [1000, 50];

describe('RemovedWebhooksService', () => {
  /** Deliveries that are left. */
  let left: number;
  /** Parameters of each statement. */
  let limited: unknown[][];
  let removed: { find: jest.Mock; delete: jest.Mock };
  let inserted: unknown[];
  let service: RemovedWebhooksService;

  const query = async (_: string, parameters: unknown[]): Promise<unknown[]> => {
    limited.push(parameters);
    const count = Math.min(left, parameters[1] as number);
    left -= count;
    return Array.from({ length: count }, () => ({}));
  };
  const tx = {
    query,
    manager: { insert: async (_: unknown, row: unknown) => inserted.push(row) },
  } as unknown as Tx;

  beforeEach(() => {
    [left, limited, inserted] = [0, [], []];
    removed = { find: jest.fn(async () => [{ webhookId: 'gone' }]), delete: jest.fn() };
    service = new RemovedWebhooksService(
      removed as unknown as Repository<RemovedWebhook>,
      { query } as unknown as DatabaseService,
    );
  });

  it.each([
    [BATCH - 1, []],
    [BATCH, [{ webhookId: 'w' }]],
    [BATCH + 1, [{ webhookId: 'w' }]],
  ])(
    'deletes one batch of %i deliveries with their webhook, and leaves the rest to the reconciler',
    async (count, rest) => {
      left = count;
      await service.deleteDeliveries(tx, 'w');
      expect(limited).toEqual([['w', BATCH]]);
      expect(inserted).toEqual(rest);
    },
  );

  it('deletes the rest in batches, and then forgets the webhook; 100 webhooks in a round', async () => {
    left = BATCH + 1;
    await service.deleteRemaining();
    expect(removed.find.mock.calls).toEqual([[{ take: 100 }]]);
    expect(limited).toEqual([
      ['gone', BATCH],
      ['gone', BATCH],
    ]);
    expect(removed.delete.mock.calls).toEqual([[{ webhookId: 'gone' }]]);
  });

  it('goes on in the next round after 50 batches, and does not forget the webhook before', async () => {
    left = BATCH * ROUNDS;
    await service.deleteRemaining();
    expect(limited).toHaveLength(ROUNDS);
    expect(removed.delete).not.toHaveBeenCalled();
    await service.deleteRemaining();
    expect(removed.delete).toHaveBeenCalledTimes(1);
  });
});
