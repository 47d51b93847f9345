import { ConcurrencyLimit } from './concurrency-limit.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('ConcurrencyLimit', () => {
  let started: number[];
  let ends: (() => void)[];
  let limit: ConcurrencyLimit;

  beforeEach(() => {
    started = [];
    ends = [];
    limit = new ConcurrencyLimit(2);
  });

  const begin = (task: number): Promise<number> =>
    limit.run(() => {
      started.push(task);
      return new Promise((resolve) => ends.push(() => resolve(task)));
    });

  it('runs as many tasks as it may, and the others in their order', async () => {
    const all = Promise.all([1, 2, 3, 4].map(begin));
    await settled();
    expect(started).toEqual([1, 2]);
    ends.shift()?.();
    await settled();
    expect(started).toEqual([1, 2, 3]);
    while (ends.length > 0) {
      ends.shift()?.();
      await settled();
    }
    expect(await all).toEqual([1, 2, 3, 4]);
  });

  it('gives the place of a task back, also of one that failed', async () => {
    for (let i = 0; i < 5; i++) await expect(limit.run(() => Promise.reject(new Error('failed')))).rejects.toThrow();
    const all = [1, 2, 3].map(begin);
    await settled();
    expect(started).toEqual([1, 2]);
    for (let i = 0; i < 3; i++) {
      ends.shift()?.();
      await settled();
    }
    expect(await Promise.all(all)).toEqual([1, 2, 3]);
  });
});
