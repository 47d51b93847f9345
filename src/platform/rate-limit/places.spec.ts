import type { RedisService } from '../queue/redis.service.js';
import { Places } from './places.js';

/** After this time Redis takes a place for one of a process that died. */
const PLACE_MS = 15_000;

describe('Places', () => {
  /** Of the places that were renewed, with the lifetime that they were given. */
  let renewed: [at: number, ms: number, places: number][];
  let renewedKeys: string[];
  let freed: number;
  let removed: string[][];
  /** What `takePlace` was given, and answers. */
  let asked: unknown[][];
  let answer: [number, number] | null;
  let places: Places;
  let startedAt: number;

  beforeEach(() => {
    jest.useFakeTimers();
    renewed = [];
    [asked, answer, removed, renewedKeys, freed] = [[], [1, 1], [], [], 0];
    startedAt = Date.now();
    const client = {
      defineCommand: () => undefined,
      takePlace: async (...given: unknown[]) => {
        asked.push(given);
        return answer;
      },
      renewPlaces: async (key: string, ms: number, ...own: string[]) => {
        renewedKeys.push(key);
        renewed.push([Date.now() - startedAt, ms, own.length]);
      },
      zrem: async (...given: string[]) => {
        removed.push(given);
        freed++;
      },
    };
    const redis = { client, tryCommand: async (send: (to: typeof client) => unknown) => await send(client) };
    places = new Places(redis as unknown as RedisService, 'uploads');
  });

  afterEach(() => {
    places.stop();
    jest.useRealTimers();
  });

  it('are renewed at least twice in the time after which they would be free, until they are freed', async () => {
    const [free] = [await places.take('a', 2), await places.take('a', 2)];
    await jest.advanceTimersByTimeAsync(PLACE_MS - 1);
    expect(renewed.length).toBeGreaterThanOrEqual(2);
    expect(renewed.every(([, ms, count]) => ms === PLACE_MS && count === 2)).toBe(true);
    if (typeof free === 'number') throw new Error('not taken');
    free();
    free();
    expect(freed).toBe(1);
    renewed = [];
    await jest.advanceTimersByTimeAsync(PLACE_MS);
    expect(renewed.length).toBeGreaterThanOrEqual(2);
    expect(renewed.every(([, , count]) => count === 1)).toBe(true);
  });

  it('are asked for with the key of the account, the limit and their lifetime, each under a name of its own', async () => {
    await places.take('a', 2);
    await places.take('a', 3);
    await places.count('b');
    expect(asked.map((given) => given.slice(0, 3))).toEqual([
      ['uploads:a', 2, PLACE_MS],
      ['uploads:a', 3, PLACE_MS],
      ['uploads:b', 0, PLACE_MS],
    ]);
    expect(new Set(asked.map(([, , , place]) => place)).size).toBe(3);
  });

  it('are refused with the number of those in use, and then neither renewed nor freed', async () => {
    answer = [0, 5];
    expect(await places.take('a', 5)).toBe(5);
    expect(await places.count('a')).toBe(5);
    await jest.advanceTimersByTimeAsync(PLACE_MS);
    expect(renewed).toEqual([]);
  });

  it('are freed under the name that they were taken with, each by itself, and not renewed any more', async () => {
    const free = [await places.take('a', 2), await places.take('b', 2)];
    for (const one of free) if (typeof one !== 'number') one();
    expect(removed).toEqual([
      ['uploads:a', asked[0]?.[3]],
      ['uploads:b', asked[1]?.[3]],
    ]);
    await jest.advanceTimersByTimeAsync(PLACE_MS);
    expect(renewed).toEqual([]);
  });

  it('are renewed by the key of their account', async () => {
    await places.take('a', 2);
    await places.take('b', 2);
    await jest.advanceTimersByTimeAsync(PLACE_MS / 3);
    expect(renewedKeys).toEqual(['uploads:a', 'uploads:b']);
  });

  it('are not renewed any more after the stop', async () => {
    await places.take('a', 2);
    places.stop();
    await jest.advanceTimersByTimeAsync(PLACE_MS);
    expect(renewed).toEqual([]);
  });

  it('are counted in the process without Redis, up to the limit', async () => {
    answer = null;
    expect(await places.count('a')).toBe(0);
    const free = await places.take('a', 2);
    expect(typeof (await places.take('a', 2))).toBe('function');
    expect(await places.take('a', 2)).toBe(2);
    expect([await places.count('a'), await places.count('b')]).toEqual([2, 0]);
    if (typeof free !== 'number') free();
    expect(await places.count('a')).toBe(1);
  });
});
