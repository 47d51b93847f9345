import type { RateLimit } from '../config/env.js';

/** In whole microseconds, as the script has it: sums stay exact, and rounding up never lets a request too many pass. */
const timePerToken = (rate: number): number => Math.ceil(60_000_000 / rate);

/** A bucket as it stands after a request: what the three headers and a refusal are made of (D6). */
export interface BucketState {
  /** Whether a token was taken for this request; false for an empty bucket and for a mere look. */
  taken: boolean;
  /** `X-RateLimit-Limit`: requests a minute. */
  limit: number;
  /** `X-RateLimit-Remaining`: whole tokens above the burst headroom. */
  remaining: number;
  /** `X-RateLimit-Reset`: Unix time in whole seconds at which the bucket is full again. */
  reset: number;
  /** Whole seconds until the next token, at least 1. */
  retryAfter: number;
}

/** @param backlog microseconds until the bucket is full. @param now Unix time in microseconds. */
export function bucketState(limit: RateLimit, taken: boolean, backlog: number, now: number): BucketState {
  const perToken = timePerToken(limit.rate);
  const tokens = Math.floor(limit.burst - backlog / perToken);
  const untilNext = backlog - perToken * (limit.burst - 1);
  return {
    taken,
    limit: limit.rate,
    remaining: Math.max(0, tokens - (limit.burst - limit.rate)),
    reset: Math.ceil((now + backlog) / 1_000_000),
    retryAfter: Math.max(1, Math.ceil(untilNext / 1_000_000)),
  };
}

/** The same bucket kept in the process, for as long as Redis is away. */
export class LocalBuckets {
  private readonly fullAt = new Map<string, number>();

  constructor(private readonly clock = (): number => Date.now() * 1000) {}

  /** @param cost tokens to take: 1, or 0 to look. */
  take(name: string, limit: RateLimit, cost: 0 | 1): BucketState {
    const now = this.clock();
    const perToken = timePerToken(limit.rate);
    const fullAt = Math.max(this.fullAt.get(name) ?? 0, now);
    const taken = cost === 1 && fullAt - now <= perToken * (limit.burst - 1);
    if (!taken) return bucketState(limit, false, fullAt - now, now);
    const next = fullAt + perToken;
    this.fullAt.delete(name);
    this.fullAt.set(name, next);
    this.forgetFull(now);
    return bucketState(limit, true, next - now, now);
  }

  /** Bounded work for each call: the longest untouched entries are looked at first, and a full bucket is no news. */
  private forgetFull(now: number): void {
    for (const [name, fullAt] of this.fullAt) {
      if (fullAt > now && this.fullAt.size <= MAX_LOCAL_BUCKETS) return;
      this.fullAt.delete(name);
    }
  }
}

const MAX_LOCAL_BUCKETS = 100_000;
