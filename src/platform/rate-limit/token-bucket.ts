/** A bucket of `capacity` tokens that is refilled continuously. */
export interface TokenBucket {
  capacity: number;
  /** Whole microseconds in which one token is refilled. */
  refill: number;
}

/** A bucket after a request. */
export interface BucketState {
  /** Whether a token was taken; false for an empty bucket, and for a peek. */
  allowed: boolean;
  /** Whole tokens. Negative when a limit was lowered since. */
  tokensLeft: number;
  /** Unix time in whole seconds at which the bucket is full again. */
  fullAt: number;
  /** Whole seconds until the next token, at least 1. */
  retryAfter: number;
}

/** Absorbs the rounding error of a `ttl` that is no whole number of milliseconds, in microseconds. */
const ROUNDING_ERROR = 1e-7;

/**
 * A bucket that is full again after `ttl` milliseconds. The time of one token is rounded up to whole microseconds: sums
 * stay exact, and no request too many is allowed.
 */
export function tokenBucket(capacity: number, ttl: number): TokenBucket {
  return { capacity, refill: Math.ceil((ttl * 1000) / capacity - ROUNDING_ERROR) };
}

/** @param backlog microseconds until the bucket is full. @param now Unix time in microseconds. */
export function bucketState(
  { capacity, refill }: TokenBucket,
  allowed: boolean,
  backlog: number,
  now: number,
): BucketState {
  const untilNext = backlog - refill * (capacity - 1);
  return {
    allowed,
    tokensLeft: Math.floor(capacity - backlog / refill),
    fullAt: Math.ceil((now + backlog) / 1_000_000),
    retryAfter: Math.max(1, Math.ceil(untilNext / 1_000_000)),
  };
}

/** Whether a bucket has a whole token. @param backlog microseconds until it is full. */
export const hasToken = ({ capacity, refill }: TokenBucket, backlog: number): boolean =>
  backlog <= refill * (capacity - 1);

const MAX_LOCAL_BUCKETS = 100_000;

/** A bucket and the name under which it is kept. */
export interface NamedBucket {
  name: string;
  bucket: TokenBucket;
}

/** The same buckets in the memory of this process, used while Redis is unavailable. */
export class LocalBuckets {
  private readonly fullAt = new Map<string, number>();

  constructor(private readonly clock = (): number => Date.now() * 1000) {}

  /**
   * Takes a token from each bucket, or from none. `allowed` is false for the buckets that have none.
   * @param cost tokens to take: 1, or 0 to look.
   */
  takeFromAll(named: readonly NamedBucket[], cost: 0 | 1): BucketState[] {
    const now = this.clock();
    const backlogs = named.map(({ name }) => Math.max(this.fullAt.get(name) ?? 0, now) - now);
    const isTaken = cost === 1 && named.every(({ bucket }, i) => hasToken(bucket, backlogs[i] as number));
    return named.map(({ name, bucket }, i) => {
      const backlog = backlogs[i] as number;
      if (isTaken) return this.add(name, bucket, now + backlog, now);
      return bucketState(bucket, cost === 1 && hasToken(bucket, backlog), backlog, now);
    });
  }

  private add(name: string, bucket: TokenBucket, fullAt: number, now: number): BucketState {
    const next = fullAt + bucket.refill;
    this.fullAt.delete(name);
    this.fullAt.set(name, next);
    this.removeFull(now);
    return bucketState(bucket, true, next - now, now);
  }

  /** A full bucket needs no entry. The oldest entries come first, so that each call does little work. */
  private removeFull(now: number): void {
    for (const [name, fullAt] of this.fullAt) {
      if (fullAt > now && this.fullAt.size <= MAX_LOCAL_BUCKETS) return;
      this.fullAt.delete(name);
    }
  }
}
