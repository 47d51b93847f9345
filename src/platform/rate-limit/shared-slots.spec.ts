import type { RedisService } from '../redis/redis.service.js';
import { SharedSlots } from './shared-slots.js';

/** After this time Redis takes a slot for one of a process that died. */
const SLOT_MS = 15_000;

describe('SharedSlots', () => {
  /** Of the slots that were renewed, with the lifetime that they were given. */
  let renewed: [at: number, ms: number, slots: number][];
  let renewedKeys: string[];
  let freed: number;
  let removed: string[][];
  /** What `takeSlot` was given, and answers. */
  let asked: unknown[][];
  let answer: [number, number] | null;
  let slots: SharedSlots;
  let startedAt: number;

  beforeEach(() => {
    jest.useFakeTimers();
    renewed = [];
    [asked, answer, removed, renewedKeys, freed] = [[], [1, 1], [], [], 0];
    startedAt = Date.now();
    const client = {
      defineCommand: () => undefined,
      takeSlot: async (...given: unknown[]) => {
        asked.push(given);
        return answer;
      },
      renewSlots: async (key: string, ms: number, ...own: string[]) => {
        renewedKeys.push(key);
        renewed.push([Date.now() - startedAt, ms, own.length]);
      },
      zrem: async (...given: string[]) => {
        removed.push(given);
        freed++;
      },
    };
    const redis = { client, tryCommand: async (send: (to: typeof client) => unknown) => await send(client) };
    slots = new SharedSlots(redis as unknown as RedisService, 'uploads');
  });

  afterEach(() => {
    slots.stop();
    jest.useRealTimers();
  });

  it('are renewed at least twice in the time after which they would be free, until they are freed', async () => {
    const [free] = [await slots.take('a', 2), await slots.take('a', 2)];
    await jest.advanceTimersByTimeAsync(SLOT_MS - 1);
    expect(renewed.length).toBeGreaterThanOrEqual(2);
    expect(renewed.every(([, ms, count]) => ms === SLOT_MS && count === 2)).toBe(true);
    if (typeof free === 'number') throw new Error('not taken');
    free();
    free();
    expect(freed).toBe(1);
    renewed = [];
    await jest.advanceTimersByTimeAsync(SLOT_MS);
    expect(renewed.length).toBeGreaterThanOrEqual(2);
    expect(renewed.every(([, , count]) => count === 1)).toBe(true);
  });

  it('are requested with the key of the account, the limit and their lifetime, each under a name of its own', async () => {
    await slots.take('a', 2);
    await slots.take('a', 3);
    await slots.count('b');
    expect(asked.map((given) => given.slice(0, 3))).toEqual([
      ['uploads:a', 2, SLOT_MS],
      ['uploads:a', 3, SLOT_MS],
      ['uploads:b', 0, SLOT_MS],
    ]);
    expect(new Set(asked.map(([, , , slot]) => slot)).size).toBe(3);
  });

  it('are refused with the number of those in use, and then neither renewed nor freed', async () => {
    answer = [0, 5];
    expect(await slots.take('a', 5)).toBe(5);
    expect(await slots.count('a')).toBe(5);
    await jest.advanceTimersByTimeAsync(SLOT_MS);
    expect(renewed).toEqual([]);
  });

  it('are freed under the name that they were taken with, each by itself, and not renewed any more', async () => {
    const free = [await slots.take('a', 2), await slots.take('b', 2)];
    for (const one of free) if (typeof one !== 'number') one();
    expect(removed).toEqual([
      ['uploads:a', asked[0]?.[3]],
      ['uploads:b', asked[1]?.[3]],
    ]);
    await jest.advanceTimersByTimeAsync(SLOT_MS);
    expect(renewed).toEqual([]);
  });

  it('are renewed by the key of their account', async () => {
    await slots.take('a', 2);
    await slots.take('b', 2);
    await jest.advanceTimersByTimeAsync(SLOT_MS / 3);
    expect(renewedKeys).toEqual(['uploads:a', 'uploads:b']);
  });

  it('are not renewed any more after the stop', async () => {
    await slots.take('a', 2);
    slots.stop();
    await jest.advanceTimersByTimeAsync(SLOT_MS);
    expect(renewed).toEqual([]);
  });

  it('are counted in the process without Redis, up to the limit', async () => {
    answer = null;
    expect(await slots.count('a')).toBe(0);
    const free = await slots.take('a', 2);
    expect(typeof (await slots.take('a', 2))).toBe('function');
    expect(await slots.take('a', 2)).toBe(2);
    expect([await slots.count('a'), await slots.count('b')]).toEqual([2, 0]);
    if (typeof free !== 'number') free();
    expect(await slots.count('a')).toBe(1);
  });
});
