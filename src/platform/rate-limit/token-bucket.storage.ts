import { Injectable } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { RedisService } from '../redis/redis.service.js';
import { RedisBuckets } from './redis-buckets.js';
import { type BucketState, LocalBuckets, type NamedBucket, tokenBucket } from './token-bucket.js';

/** A bucket as Nest's throttler describes it. */
export interface ThrottlerBucket {
  key: string;
  /** Milliseconds in which an empty bucket is full again. */
  ttl: number;
  /** Capacity in tokens. */
  limit: number;
}

/** What Nest's throttler asks of a storage, and two figures that the limit headers need. */
export interface TokenBucketRecord extends Awaited<ReturnType<ThrottlerStorage['increment']>> {
  /** Whole tokens. */
  tokensLeft: number;
  /** Unix time in whole seconds at which the bucket is full again. */
  fullAt: number;
}

/**
 * Storage of Nest's throttler: a token bucket for each key instead of a window of hits, shared by all processes through
 * Redis and moved by one atomic script on Redis's clock (D6). While Redis is unavailable the buckets are kept in this
 * process.
 */
@Injectable()
export class TokenBucketStorage implements ThrottlerStorage {
  private readonly shared: RedisBuckets;
  private readonly local = new LocalBuckets();

  constructor(redis: RedisService) {
    this.shared = new RedisBuckets(redis);
  }

  /** Takes a token. @param ttl milliseconds in which an empty bucket is full again. @param limit its capacity. */
  async increment(key: string, ttl: number, limit: number): Promise<TokenBucketRecord> {
    const [record] = await this.move([{ key, ttl, limit }], 1);
    return record as TokenBucketRecord;
  }

  /**
   * Takes a token from both buckets, or from neither; then `isBlocked` tells which of them are empty. On Redis Cluster
   * their keys need the same hash tag.
   */
  async incrementBoth(
    first: ThrottlerBucket,
    second: ThrottlerBucket,
  ): Promise<[TokenBucketRecord, TokenBucketRecord]> {
    return (await this.move([first, second], 1)) as [TokenBucketRecord, TokenBucketRecord];
  }

  /** As `increment`, without taking a token. */
  async peek(key: string, ttl: number, limit: number): Promise<TokenBucketRecord> {
    const [record] = await this.move([{ key, ttl, limit }], 0);
    return record as TokenBucketRecord;
  }

  private async move(buckets: readonly ThrottlerBucket[], cost: 0 | 1): Promise<TokenBucketRecord[]> {
    const named = buckets.map(({ key, limit, ttl }) => ({ name: key, bucket: tokenBucket(limit, ttl) }));
    const answer = await (cost === 1 ? this.shared.takeFromAll(named) : this.shared.peek(named));
    const states = answer ?? this.local.takeFromAll(named, cost);
    return states.map((state, i) => toRecord((named[i] as NamedBucket).bucket.capacity, state));
  }
}

function toRecord(limit: number, { allowed, tokensLeft, fullAt, retryAfter }: BucketState): TokenBucketRecord {
  return {
    totalHits: limit - tokensLeft,
    timeToExpire: fullAt - Math.floor(Date.now() / 1000),
    isBlocked: !allowed,
    timeToBlockExpire: retryAfter,
    tokensLeft,
    fullAt,
  };
}
