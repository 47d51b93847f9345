import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Injectable } from '@nestjs/common';
import type { RateLimit } from '../config/env.js';
import { RedisConnection } from '../queue/redis.js';
import { type BucketState, bucketState, LocalBuckets } from './bucket-state.js';

const SCRIPT = readFileSync(fileURLToPath(new URL('./token-bucket.lua', import.meta.url)), 'utf8');

/** One bucket for each name, shared by all processes through Redis and moved by one atomic script (D6). */
@Injectable()
export class TokenBucket {
  private readonly local = new LocalBuckets();

  constructor(private readonly redis: RedisConnection) {
    redis.client.defineCommand('takeToken', { numberOfKeys: 1, lua: SCRIPT });
  }

  take(name: string, limit: RateLimit): Promise<BucketState> {
    return this.move(name, limit, 1);
  }

  /** The state without taking a token. */
  look(name: string, limit: RateLimit): Promise<BucketState> {
    return this.move(name, limit, 0);
  }

  private async move(name: string, limit: RateLimit, cost: 0 | 1): Promise<BucketState> {
    const answer = await this.redis.attempt((client) =>
      (client as unknown as TakesTokens).takeToken(`rate-limit:${name}`, limit.rate, limit.burst, cost),
    );
    if (answer === null) return this.local.take(name, limit, cost);
    const [taken, backlog, now] = answer;
    return bucketState(limit, taken === 1, backlog, now);
  }
}

interface TakesTokens {
  takeToken(key: string, rate: number, burst: number, cost: number): Promise<[number, number, number]>;
}
