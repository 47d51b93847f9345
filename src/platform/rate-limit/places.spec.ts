import type { RedisService } from '../queue/redis.service.js';
import { Places } from './places.js';

/** After this time Redis takes a place for one of a process that died. */
const PLACE_MS = 15_000;

describe('Places', () => {
  /** Of the places that were renewed, with the lifetime that they were given. */
  let renewed: [at: number, ms: number, places: number][];
  let freed: number;
  let places: Places;
  let startedAt: number;

  beforeEach(() => {
    jest.useFakeTimers();
    renewed = [];
    freed = 0;
    startedAt = Date.now();
    const client = {
      defineCommand: () => undefined,
      takePlace: async () => [1, 1],
      renewPlaces: async (_: string, ms: number, ...own: string[]) =>
        void renewed.push([Date.now() - startedAt, ms, own.length]),
      zrem: async () => void freed++,
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
});
