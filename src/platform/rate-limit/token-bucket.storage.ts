import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Injectable } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { RedisService } from '../queue/redis.service.js';
import { type BucketState, bucketState, LocalBuckets, tokenBucket } from './token-bucket.js';

const SCRIPT = readFileSync(fileURLToPath(new URL('./token-bucket.lua', import.meta.url)), 'utf8');

interface TakesTokens {
  takeToken(key: string, capacity: number, refill: number, cost: 0 | 1): Promise<Answer>;
}

type Answer = [taken: 0 | 1, backlog: number, now: number];

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
    redis.client.defineCommand('takeToken', { numberOfKeys: 1, lua: SCRIPT });
  }

  /** Takes a token. @param ttl milliseconds in which an empty bucket is full again. @param limit its capacity. */
  increment(key: string, ttl: number, limit: number): Promise<TokenBucketRecord> {
    return this.move(key, ttl, limit, 1);
  }

  /** As `increment`, without taking a token. */
  peek(key: string, ttl: number, limit: number): Promise<TokenBucketRecord> {
    return this.move(key, ttl, limit, 0);
  }

  private async move(key: string, ttl: number, limit: number, cost: 0 | 1): Promise<TokenBucketRecord> {
    const bucket = tokenBucket(limit, ttl);
    const answer = await this.redis.tryCommand((client) =>
      (client as unknown as TakesTokens).takeToken(`rate-limit:${key}`, limit, bucket.refill, cost),
    );
    if (!answer) return toRecord(limit, this.local.take(key, bucket, cost));
    const [taken, backlog, now] = answer;
    return toRecord(limit, bucketState(bucket, taken === 1, backlog, now));
  }
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
