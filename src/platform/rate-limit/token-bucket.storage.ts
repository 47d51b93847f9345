import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Injectable } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { RedisService } from '../queue/redis.service.js';
import {
  type BucketState,
  bucketState,
  hasToken,
  LocalBuckets,
  type NamedBucket,
  tokenBucket,
} from './token-bucket.js';

const SCRIPT = readFileSync(fileURLToPath(new URL('./token-bucket.lua', import.meta.url)), 'utf8');

interface TakesTokens {
  takeTokens(numberOfKeys: number, ...keysAndArguments: (string | number)[]): Promise<Answer>;
}

type Answer = [taken: 0 | 1, backlog: number, now: number, secondBacklog?: number];

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
  private readonly local = new LocalBuckets();

  constructor(private readonly redis: RedisService) {
    redis.client.defineCommand('takeTokens', { lua: SCRIPT });
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
    const keys = named.map(({ name }) => `rate-limit:${name}`);
    const sizes = named.flatMap(({ bucket: { capacity, refill } }) => [capacity, refill, cost]);
    const answer = await this.redis.tryCommand((client) =>
      (client as unknown as TakesTokens).takeTokens(keys.length, ...keys, ...sizes),
    );
    const states = answer ? statesOf(named, answer, cost) : this.local.takeFromAll(named, cost);
    return states.map((state, i) => toRecord((named[i] as NamedBucket).bucket.capacity, state));
  }
}

function statesOf(named: readonly NamedBucket[], [taken, backlog, now, second]: Answer, cost: 0 | 1): BucketState[] {
  return named.map(({ bucket }, i) => {
    const left = i === 0 ? backlog : (second as number);
    return bucketState(bucket, taken === 1 || (cost === 1 && hasToken(bucket, left)), left, now);
  });
}

function toRecord(limit: number, { taken, tokensLeft, fullAt, retryAfter }: BucketState): TokenBucketRecord {
  return {
    totalHits: limit - tokensLeft,
    timeToExpire: fullAt - Math.floor(Date.now() / 1000),
    isBlocked: !taken,
    timeToBlockExpire: retryAfter,
    tokensLeft,
    fullAt,
  };
}
