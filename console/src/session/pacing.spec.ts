import { backgroundTime, remainingAt } from './pacing';

const NOW = Date.UTC(2026, 0, 1);
const SECOND = 1000;

/** Of the plan free: ten requests a minute. */
const limitWith = (remaining: number) => ({
  limit: 10,
  remaining,
  reset: new Date(NOW + (10 - remaining) * 6 * SECOND),
});

describe('requests that nobody waits for', () => {
  beforeEach(() => jest.useFakeTimers({ now: NOW }));
  afterEach(() => jest.useRealTimers());

  it('are sent at once while more is left than is kept for people', () => {
    expect(backgroundTime(limitWith(6), 0.5, NOW)).toBe(0);
    expect(backgroundTime(null, 0.5, NOW)).toBe(0);
  });

  it('wait until so much is left, counting those under way', () => {
    expect(backgroundTime(limitWith(5), 0.5, NOW)).toBe(NOW + 6 * SECOND);
    expect(backgroundTime(limitWith(6), 0.5, NOW, 1)).toBe(NOW + 6 * SECOND);
  });

  it('go on all the same, at less than the rate at which the bucket fills', () => {
    expect(backgroundTime(limitWith(0), 0.5, NOW)).toBe(NOW + 15 * SECOND);
    expect(backgroundTime(limitWith(0), 0.5, NOW - 15 * SECOND)).toBe(NOW);
  });

  it('see the bucket fill between two answers', () => {
    expect(remainingAt(limitWith(4), NOW)).toBe(4);
    expect(remainingAt(limitWith(4), NOW + 12 * SECOND)).toBe(6);
    expect(remainingAt(limitWith(4), NOW + 600 * SECOND)).toBe(10);
  });
});
