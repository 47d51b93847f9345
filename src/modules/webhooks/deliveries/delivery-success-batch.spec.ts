import type { DatabaseService } from '../../../platform/database/database.service.js';
import { DeliverySuccessBatch } from './delivery-success-batch.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('SuccessWriter', () => {
  /** Statements under way: the ids they write, and how they end: with what was written, or with an error. */
  let statements: { ids: string[]; end: (written: string[] | Error) => Promise<void> }[];
  let writer: DeliverySuccessBatch;

  beforeEach(() => {
    statements = [];
    const prepared = (_sql: string, [ids]: unknown[]) =>
      new Promise<unknown[]>((resolve, reject) => {
        const finish = (written: string[] | Error): Promise<void> => {
          if (written instanceof Error) reject(written);
          else resolve(written.map((id) => ({ id })));
          return settled();
        };
        statements.push({ ids: ids as string[], end: finish });
      });
    writer = new DeliverySuccessBatch({ prepared } as unknown as DatabaseService);
  });

  const write = (id: string) => writer.write({ id, leaseToken: 'lease', status: 200, durationMs: 1 });
  const end = (written: string[] | Error) => statements.shift()?.end(written);

  it('writes one at once, and what comes meanwhile together', async () => {
    const first = write('a');
    await settled();
    expect(statements.map(({ ids }) => ids)).toEqual([['a']]);
    const others = Promise.all([write('b'), write('c')]);
    await settled();
    expect(statements).toHaveLength(1);
    await end(['a']);
    await first;
    expect(statements.map(({ ids }) => ids)).toEqual([['b', 'c']]);
    await end(['b', 'c']);
    await others;
  });

  it('lets nobody wait for one that is locked', async () => {
    const [free, locked] = [write('a'), write('b')];
    await settled();
    await end(['a']);
    await free;
    expect(statements.map(({ ids }) => ids)).toEqual([['b']]);
    const next = write('c');
    await settled();
    expect(statements.map(({ ids }) => ids)).toEqual([['b'], ['c']]);
    await end([]);
    await locked;
    await end(['c']);
    await next;
  });

  it('tells everybody of an error, and goes on', async () => {
    const outcomes = Promise.allSettled([write('a'), write('b')]);
    await settled();
    await end(new Error('terminating connection'));
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(statements).toEqual([]);
    const again = write('a');
    await settled();
    await end(['a']);
    await again;
  });
});
