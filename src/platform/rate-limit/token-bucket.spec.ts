import fc from 'fast-check';
import { type BucketState, bucketState, LocalBuckets, type TokenBucket, tokenBucket } from './token-bucket.js';

const take = (buckets: LocalBuckets, name: string, bucket: TokenBucket, cost: 0 | 1): BucketState =>
  buckets.takeFromAll([{ name, bucket }], cost)[0] as BucketState;

/** The plan Free: 20 tokens, one every 6 s. */
const FREE = tokenBucket(20, 120_000);
/** Microseconds. */
const FREE_TOKEN = 6_000_000;
const START = 1_700_000_000_000_000;

const bucketOf = (rate: number, headroom: number): TokenBucket =>
  tokenBucket(rate + headroom, ((rate + headroom) * 60_000) / rate);

/** Any plan, also with rates that do not divide 60 seconds. */
const anyBucket = fc
  .tuple(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 0, max: 50 }))
  .map(([rate, headroom]) => bucketOf(rate, headroom));
/** Small enough to be emptied in a test. */
const smallBucket = fc
  .tuple(fc.integer({ min: 1, max: 120 }), fc.integer({ min: 0, max: 30 }))
  .map(([rate, headroom]) => bucketOf(rate, headroom));

describe('tokenBucket', () => {
  it('rounds the time of a token up to whole microseconds, and adds nothing where it is whole', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 0, max: 1_000_000 }), (rate, headroom) => {
        expect(bucketOf(rate, headroom).refill).toBe(Math.ceil(60_000_000 / rate));
      }),
    );
  });
});

describe('bucketState (D6)', () => {
  it('reports a full bucket as full', () => {
    expect(bucketState(FREE, false, 0, START)).toEqual({
      allowed: false,
      tokensLeft: 20,
      fullAt: START / 1_000_000,
      retryAfter: 1,
    });
  });

  it('counts whole tokens only', () => {
    const tokensAt = (backlog: number) => bucketState(FREE, true, backlog, START).tokensLeft;
    expect(tokensAt(FREE_TOKEN)).toBe(19);
    expect(tokensAt(FREE_TOKEN - 1)).toBe(19);
    expect(tokensAt(9 * FREE_TOKEN + 1)).toBe(10);
    expect(tokensAt(20 * FREE_TOKEN)).toBe(0);
  });

  it('rounds the time at which the bucket is full, and the wait for a token, up to whole seconds', () => {
    const empty = bucketState(FREE, false, 20 * FREE_TOKEN, START + 1);
    expect(empty.fullAt).toBe(START / 1_000_000 + 121);
    expect(empty.retryAfter).toBe(6);
    expect(bucketState(FREE, false, 19 * FREE_TOKEN + 1, START).retryAfter).toBe(1);
  });

  it('never announces a wait of less than a second', () => {
    expect(bucketState(tokenBucket(6000, 60_000), false, 60_000_000, START).retryAfter).toBe(1);
  });
});

describe('LocalBuckets (D6)', () => {
  function bucketsAt(start: number) {
    const clock = { now: start };
    return { clock, buckets: new LocalBuckets(() => clock.now) };
  }

  it('lets a rested account send its burst at once and not one request more, whatever its rate', () => {
    fc.assert(
      fc.property(smallBucket, (bucket) => {
        const { buckets } = bucketsAt(START);
        const taken = Array.from({ length: bucket.capacity + 3 }, () => take(buckets, 'a', bucket, 1).allowed);
        expect(taken.filter(Boolean)).toHaveLength(bucket.capacity);
        expect(taken.slice(bucket.capacity)).toEqual([false, false, false]);
      }),
    );
  });

  it('counts the tokens down by one each to 0, whatever the rate', () => {
    fc.assert(
      fc.property(smallBucket, (bucket) => {
        const { buckets } = bucketsAt(START);
        const tokens = Array.from({ length: bucket.capacity }, () => take(buckets, 'a', bucket, 1).tokensLeft);
        expect(tokens).toEqual(tokens.map((_, i) => bucket.capacity - 1 - i));
      }),
    );
  });

  it('allows burst + floor(elapsed × rate / 60) and not one more, and refuses only without a whole token', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 3_000_000 }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(smallBucket, pauses, (bucket, gaps) => {
        const { clock, buckets } = bucketsAt(START);
        const { capacity, refill } = bucket;
        let taken = 0;
        let credit = capacity * refill;
        for (const gap of gaps) {
          clock.now += gap;
          credit = Math.min(capacity * refill, credit + gap);
          const { allowed } = take(buckets, 'a', bucket, 1);
          expect(allowed).toBe(credit >= refill);
          if (!allowed) continue;
          taken += 1;
          credit -= refill;
        }
        const elapsed = clock.now - START;
        expect(taken).toBeLessThanOrEqual(capacity + Math.floor(elapsed / refill));
      }),
    );
  });

  it('gives a token after the time it announced, and none a second before', () => {
    fc.assert(
      fc.property(smallBucket, (bucket) => {
        const { clock, buckets } = bucketsAt(START);
        let refused: BucketState;
        do refused = take(buckets, 'a', bucket, 1);
        while (refused.allowed);
        clock.now += (refused.retryAfter - 1) * 1_000_000 - 1;
        if (refused.retryAfter > 1) expect(take(buckets, 'a', bucket, 1).allowed).toBe(false);
        clock.now += 1_000_001;
        expect(take(buckets, 'a', bucket, 1).allowed).toBe(true);
      }),
    );
  });

  it('takes nothing when the caller only looks', () => {
    fc.assert(
      fc.property(anyBucket, (bucket) => {
        const { buckets } = bucketsAt(START);
        const before = take(buckets, 'a', bucket, 1);
        expect(take(buckets, 'a', bucket, 0)).toEqual({ ...before, allowed: false });
        expect(take(buckets, 'a', bucket, 0)).toEqual({ ...before, allowed: false });
      }),
    );
  });

  it('is full again at the time it announced', () => {
    fc.assert(
      fc.property(anyBucket, fc.integer({ min: 1, max: 50 }), (bucket, requests) => {
        const { clock, buckets } = bucketsAt(START);
        let fullAt = 0;
        for (let i = 0; i < requests; i++) ({ fullAt } = take(buckets, 'a', bucket, 1));
        clock.now = fullAt * 1_000_000;
        expect(take(buckets, 'a', bucket, 0).tokensLeft).toBe(bucket.capacity);
      }),
    );
  });

  it('keeps a bucket for each name', () => {
    const { buckets } = bucketsAt(START);
    const single = tokenBucket(1, 60_000);
    expect(take(buckets, 'a', single, 1).allowed).toBe(true);
    expect(take(buckets, 'a', single, 1).allowed).toBe(false);
    expect(take(buckets, 'b', single, 1).allowed).toBe(true);
  });

  it('takes from all of several buckets or from none, and tells which of them are empty', () => {
    const { buckets } = bucketsAt(START);
    const small = { name: 'small', bucket: tokenBucket(1, 60_000) };
    const large = { name: 'large', bucket: tokenBucket(5, 60_000) };
    const left = () => buckets.takeFromAll([large], 0)[0]?.tokensLeft;
    expect(buckets.takeFromAll([small, large], 1).map(({ allowed }) => allowed)).toEqual([true, true]);
    for (const both of [
      [small, large],
      [large, small],
    ]) {
      const taken = buckets.takeFromAll(both, 1).map((state) => state.allowed);
      expect(taken).toEqual(both.map(({ name }) => name === 'large'));
      expect(left()).toBe(4);
    }
  });

  it('removes full buckets, and others only above the maximum', () => {
    const { clock, buckets } = bucketsAt(START);
    const kept = buckets as unknown as { fullAt: Map<string, number> };
    const second = tokenBucket(60, 60_000);
    for (let i = 0; i < 50; i++) take(buckets, `old-${i}`, second, 1);
    expect(kept.fullAt.size).toBe(50);
    clock.now += 1_000_000;
    take(buckets, 'new', second, 1);
    expect([...kept.fullAt.keys()]).toEqual(['new']);
  });

  it('removes full buckets also when an older one was used again', () => {
    const { clock, buckets } = bucketsAt(START);
    const kept = buckets as unknown as { fullAt: Map<string, number> };
    const bucket = tokenBucket(60, 60_000);
    for (const name of ['used again', 'old-1', 'old-2']) take(buckets, name, bucket, 1);
    clock.now += 900_000;
    take(buckets, 'used again', bucket, 1);
    clock.now += 200_000;
    take(buckets, 'new', bucket, 1);
    expect([...kept.fullAt.keys()]).toEqual(['used again', 'new']);
  });

  it('keeps 100,000 buckets at most, the latest', () => {
    const { buckets } = bucketsAt(START);
    const kept = buckets as unknown as { fullAt: Map<string, number> };
    const hour = tokenBucket(1, 3_600_000);
    for (let i = 0; i <= 100_000; i++) take(buckets, `${i}`, hour, 1);
    expect(kept.fullAt.size).toBe(100_000);
    expect([kept.fullAt.has('0'), kept.fullAt.has('1'), kept.fullAt.has('100000')]).toEqual([false, true, true]);
  });
});
