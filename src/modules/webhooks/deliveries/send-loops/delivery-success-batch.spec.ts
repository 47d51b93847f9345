import type { DatabaseService } from '../../../../platform/database/database.service.js';
import { DeliverySuccessBatch } from './delivery-success-batch.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('DeliverySuccessBatch', () => {
  /** Open statements: the ids they update, and how they end: with the updated ids or with an error. */
  let statements: { ids: string[]; end: (saved: string[] | Error) => Promise<void> }[];
  let successes: DeliverySuccessBatch;

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
    successes = new DeliverySuccessBatch({ prepared } as unknown as DatabaseService);
  });

  const save = (id: string) =>
    successes.save({ id, leaseToken: 'lease', status: 200, durationMs: 1, agoMs: 2, response: '' });
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
