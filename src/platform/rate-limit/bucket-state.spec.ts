import fc from 'fast-check';
import { type BucketState, bucketState, LocalBuckets } from './bucket-state.js';

const FREE = { rate: 10, burst: 20 };
/** Microseconds in which a Free account gets one token. */
const FREE_TOKEN = 6_000_000;
const START = 1_700_000_000_000_000;

/** Any plan, rates included that 60 seconds are no multiple of. */
const anyLimit = fc
  .tuple(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 0, max: 50 }))
  .map(([rate, headroom]) => ({ rate, burst: rate + headroom }));
/** Small enough to be emptied in a test. */
const smallLimit = fc
  .tuple(fc.integer({ min: 1, max: 120 }), fc.integer({ min: 0, max: 30 }))
  .map(([rate, headroom]) => ({ rate, burst: rate + headroom }));

describe('bucketState (D6)', () => {
  it('says of a full bucket that nothing is missing', () => {
    expect(bucketState(FREE, false, 0, START)).toEqual({
      taken: false,
      limit: 10,
      remaining: 10,
      reset: START / 1_000_000,
      retryAfter: 1,
    });
  });

  it('shows only whole tokens above the burst headroom', () => {
    const remainingAt = (backlog: number) => bucketState(FREE, true, backlog, START).remaining;
    expect(remainingAt(FREE_TOKEN)).toBe(9);
    expect(remainingAt(FREE_TOKEN - 1)).toBe(9);
    expect(remainingAt(9 * FREE_TOKEN)).toBe(1);
    expect(remainingAt(9 * FREE_TOKEN + 1)).toBe(0);
    expect(remainingAt(20 * FREE_TOKEN)).toBe(0);
  });

  it('rounds the time at which the bucket is full, and the wait for a token, up to whole seconds', () => {
    const empty = bucketState(FREE, false, 20 * FREE_TOKEN, START + 1);
    expect(empty.reset).toBe(START / 1_000_000 + 121);
    expect(empty.retryAfter).toBe(6);
    expect(bucketState(FREE, false, 19 * FREE_TOKEN + 1, START).retryAfter).toBe(1);
  });

  it('asks nobody to wait less than a second', () => {
    expect(bucketState({ rate: 6000, burst: 6000 }, false, 60_000_000, START).retryAfter).toBe(1);
  });
});

describe('LocalBuckets (D6)', () => {
  function bucketsAt(start: number) {
    const clock = { now: start };
    return { clock, buckets: new LocalBuckets(() => clock.now) };
  }

  it('lets a rested account send its burst at once and not one request more, whatever its rate', () => {
    fc.assert(
      fc.property(smallLimit, (limit) => {
        const { buckets } = bucketsAt(START);
        const taken = Array.from({ length: limit.burst + 3 }, () => buckets.take('a', limit, 1).taken);
        expect(taken.filter(Boolean)).toHaveLength(limit.burst);
        expect(taken.slice(limit.burst)).toEqual([false, false, false]);
      }),
    );
  });

  it('counts the remaining requests down by one each to 0, whatever the rate', () => {
    fc.assert(
      fc.property(smallLimit, (limit) => {
        const { buckets } = bucketsAt(START);
        const remaining = Array.from({ length: limit.burst }, () => buckets.take('a', limit, 1).remaining);
        expect(remaining).toEqual(remaining.map((_, i) => Math.max(0, limit.rate - 1 - i)));
      }),
    );
  });

  it('allows burst + floor(elapsed × rate / 60) and not one more, and refuses only without a whole token', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 3_000_000 }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(smallLimit, pauses, (limit, gaps) => {
        const { clock, buckets } = bucketsAt(START);
        const perToken = Math.ceil(60_000_000 / limit.rate);
        let allowed = 0;
        let tokens = limit.burst * perToken;
        for (const gap of gaps) {
          clock.now += gap;
          tokens = Math.min(limit.burst * perToken, tokens + gap);
          const { taken } = buckets.take('a', limit, 1);
          expect(taken).toBe(tokens >= perToken);
          if (!taken) continue;
          allowed += 1;
          tokens -= perToken;
        }
        const elapsed = clock.now - START;
        expect(allowed).toBeLessThanOrEqual(limit.burst + Math.floor((elapsed * limit.rate) / 60_000_000));
      }),
    );
  });

  it('gives a token after the time it announced, and none a second before', () => {
    fc.assert(
      fc.property(smallLimit, (limit) => {
        const { clock, buckets } = bucketsAt(START);
        let refused: BucketState;
        do refused = buckets.take('a', limit, 1);
        while (refused.taken);
        clock.now += (refused.retryAfter - 1) * 1_000_000 - 1;
        if (refused.retryAfter > 1) expect(buckets.take('a', limit, 1).taken).toBe(false);
        clock.now += 1_000_001;
        expect(buckets.take('a', limit, 1).taken).toBe(true);
      }),
    );
  });

  it('takes nothing for a mere look', () => {
    fc.assert(
      fc.property(anyLimit, (limit) => {
        const { buckets } = bucketsAt(START);
        const before = buckets.take('a', limit, 1);
        expect(buckets.take('a', limit, 0)).toEqual({ ...before, taken: false });
        expect(buckets.take('a', limit, 0)).toEqual({ ...before, taken: false });
      }),
    );
  });

  it('is full again at the time it announced', () => {
    fc.assert(
      fc.property(anyLimit, fc.integer({ min: 1, max: 50 }), (limit, requests) => {
        const { clock, buckets } = bucketsAt(START);
        let reset = 0;
        for (let i = 0; i < requests; i++) ({ reset } = buckets.take('a', limit, 1));
        clock.now = reset * 1_000_000;
        expect(buckets.take('a', limit, 0).remaining).toBe(limit.rate);
      }),
    );
  });

  it('keeps a bucket for each name', () => {
    const { buckets } = bucketsAt(START);
    const single = { rate: 1, burst: 1 };
    expect(buckets.take('a', single, 1).taken).toBe(true);
    expect(buckets.take('a', single, 1).taken).toBe(false);
    expect(buckets.take('b', single, 1).taken).toBe(true);
  });

  it('forgets full buckets, and never one that is not full while there is room', () => {
    const { clock, buckets } = bucketsAt(START);
    const kept = buckets as unknown as { fullAt: Map<string, number> };
    const second = { rate: 60, burst: 60 };
    for (let i = 0; i < 50; i++) buckets.take(`old-${i}`, second, 1);
    expect(kept.fullAt.size).toBe(50);
    clock.now += 1_000_000;
    buckets.take('new', second, 1);
    expect([...kept.fullAt.keys()]).toEqual(['new']);
  });
});
