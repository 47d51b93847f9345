import type { Database } from '../../../platform/database/database.js';
import { SuccessWriter } from './success-writer.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('SuccessWriter', () => {
  /** Statements under way: the ids they write, and how they end. */
  let statements: { ids: string[]; end: (error?: Error) => Promise<void> }[];
  let writer: SuccessWriter;

  beforeEach(() => {
    statements = [];
    const database: Partial<Database> = {
      prepared: (_sql, [ids]) =>
        new Promise((resolve, reject) => {
          const end = (error?: Error): Promise<void> => {
            if (error) reject(error);
            else resolve([]);
            return settled();
          };
          statements.push({ ids: ids as string[], end });
        }),
    };
    writer = new SuccessWriter(database as Database);
  });

  const write = (id: string) => writer.write({ id, leaseToken: 'lease', status: 200, durationMs: 1 });
  const end = (error?: Error) => statements.shift()?.end(error);

  it('writes one at once, and what comes meanwhile together', async () => {
    const first = write('a');
    await settled();
    expect(statements.map(({ ids }) => ids)).toEqual([['a']]);
    const others = Promise.all([write('b'), write('c')]);
    await settled();
    expect(statements).toHaveLength(1);
    await end();
    await first;
    expect(statements.map(({ ids }) => ids)).toEqual([['b', 'c']]);
    await end();
    await others;
  });

  it('writes each alone when they cannot be written together, and tells who could not', async () => {
    const outcomes = Promise.allSettled([write('a'), write('b'), write('c')]);
    await settled();
    await end(new Error('deadlock detected'));
    expect(statements.map(({ ids }) => ids)).toEqual([['a'], ['b'], ['c']]);
    await end();
    await end(new Error('still in the way'));
    await end();
    expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('tells everybody at once that Postgres is away, and goes on when it is back', async () => {
    const outcomes = Promise.allSettled([write('a'), write('b')]);
    await settled();
    await end(Object.assign(new Error('terminating connection'), { code: '57P01' }));
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(statements).toEqual([]);
    const again = write('a');
    await settled();
    await end();
    await again;
  });
});
