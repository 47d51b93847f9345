import { setTimeout as delay } from 'node:timers/promises';
import { ProblemCache } from './problem-cache.js';

describe('ProblemCache', () => {
  let checks = 0;
  const cacheOf = (check: () => Promise<string | null>, keptMs: number): ProblemCache =>
    new ProblemCache(() => {
      checks++;
      return check();
    }, keptMs);

  beforeEach(() => {
    checks = 0;
  });
  afterEach(() => jest.restoreAllMocks());

  it('shares one check among simultaneous callers and keeps its result', async () => {
    const cache = cacheOf(() => delay(20, 'broken'), 10_000);
    expect(await Promise.all([cache.get(), cache.get()])).toEqual(['broken', 'broken']);
    expect(await cache.get()).toBe('broken');
    expect(checks).toBe(1);
  });

  it('keeps a result for its time, which starts when the check ends', async () => {
    let now = 0;
    jest.spyOn(Date, 'now').mockImplementation(() => now);
    const cache = cacheOf(async () => {
      now += 30;
      return null;
    }, 20);
    await cache.get();
    now += 20;
    await cache.get();
    expect(checks).toBe(1);
    now += 1;
    await cache.get();
    expect(checks).toBe(2);
  });

  it('does not keep a check that fails', async () => {
    const cache = cacheOf(() => Promise.reject(new Error('no')), 10_000);
    await expect(cache.get()).rejects.toThrow('no');
    await expect(cache.get()).rejects.toThrow('no');
    expect(checks).toBe(2);
  });
});
