import { coalesce } from './coalesce.js';

describe('coalesce with a pause', () => {
  const PAUSE_MS = 1000;

  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] }));
  afterEach(() => jest.useRealTimers());

  function recorder() {
    const calls: { items: readonly number[]; answer: () => void; fail: () => void }[] = [];
    const load = coalesce(
      (items: readonly number[]) =>
        new Promise<number[]>((resolve, reject) => {
          calls.push({
            items,
            answer: () => resolve(items.map((item) => item * 2)),
            fail: () => reject(new Error('no answer')),
          });
        }),
      { maxItems: 3, pauseMs: PAUSE_MS },
    );
    return { calls, load };
  }
  const pass = (ms = PAUSE_MS) => jest.advanceTimersByTimeAsync(ms);

  it('performs the batches of a rush one after another, each as large as permitted', async () => {
    const { calls, load } = recorder();
    const first = load(0);
    await pass();
    const rest = Promise.all([1, 2, 3, 4, 5, 6, 7].map((item) => load(item)));
    for (const expected of [[0], [1, 2, 3], [4, 5, 6], [7]]) {
      await pass();
      expect(calls.at(-1)?.items).toEqual(expected);
      calls.at(-1)?.answer();
    }
    expect(await first).toBe(0);
    expect(await rest).toEqual([2, 4, 6, 8, 10, 12, 14]);
    expect(calls).toHaveLength(4);
  });

  it('begins at once after a rest, and then waits for the pause', async () => {
    const { calls, load } = recorder();
    const first = load(1);
    await pass(0);
    expect(calls).toHaveLength(1);
    calls[0]?.answer();
    await first;
    const second = Promise.all([load(2), load(3)]);
    await pass(PAUSE_MS - 1);
    expect(calls).toHaveLength(1);
    await pass(1);
    expect(calls).toHaveLength(2);
    expect(calls[1]?.items).toEqual([2, 3]);
    calls[1]?.answer();
    await second;
  });

  it('goes on after a batch that failed', async () => {
    const { calls, load } = recorder();
    const failing = expect(load(1)).rejects.toThrow('no answer');
    await pass();
    const next = load(2);
    calls[0]?.fail();
    await failing;
    await pass();
    calls[1]?.answer();
    expect(await next).toBe(4);
  });
});

describe('coalesce without a pause', () => {
  it('performs up to 100 calls at a time', async () => {
    const batches: number[] = [];
    const load = coalesce(async (items: readonly number[]) => {
      batches.push(items.length);
      return [...items];
    });
    const items = Array.from({ length: 150 }, (_, i) => i);
    expect(await Promise.all(items.map((item) => load(item)))).toEqual(items);
    expect(batches).toEqual([100, 50]);
  });

  it('asks again for an item that was asked for before', async () => {
    let calls = 0;
    const load = coalesce(async (items: readonly string[]) => items.map(() => ++calls));
    expect([await load('a'), await load('a')]).toEqual([1, 2]);
  });
});
