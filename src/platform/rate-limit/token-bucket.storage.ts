import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Injectable } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import DataLoader from 'dataloader';
import { RedisService } from '../redis/redis.service.js';
import {
  type BucketState,
  bucketState,
  hasToken,
  LocalBuckets,
  type NamedBucket,
  tokenBucket,
} from './token-bucket.js';

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

const SCRIPT = readFileSync(fileURLToPath(new URL('./token-bucket.lua', import.meta.url)), 'utf8');

interface TakesTokens {
  takeTokens(numberOfKeys: number, ...keysAndArguments: (string | number)[]): Promise<Answer>;
}

type Answer = [taken: number, backlog: number, now: number, secondBacklog?: number];

/** Requests of one turn of the event loop that take from the same buckets. */
interface SharedTake {
  named: readonly NamedBucket[];
  /** Their places in the batch. */
  requests: number[];
}

/**
 * The buckets in Redis, shared by all processes and moved by one atomic script on Redis's clock. Requests that take from
 * the same buckets in the same turn of the event loop share a command, and each gets the state that it would have got
 * alone; without others a request waits for nothing. With 32 connections of one account a request takes 111 µs CPU
 * instead of 137 (docs/performance.md, docs/decisions/0008). Held by `token-bucket.storage.spec.ts`.
 */
export class RedisBuckets {
  private readonly takes = new DataLoader<readonly NamedBucket[], BucketState[] | null>(
    async (batch) => await this.takeBatch(batch),
    { cache: false },
  );

  constructor(private readonly redis: RedisService) {
    redis.client.defineCommand('takeTokens', { lua: SCRIPT });
  }

  /**
   * Takes a token from each bucket, or from none. `allowed` is false for the buckets that have none.
   * @returns null when Redis did not answer.
   */
  async takeFromAll(named: readonly NamedBucket[]): Promise<BucketState[] | null> {
    return await this.takes.load(named);
  }

  /** As `takeFromAll`, without taking a token. */
  async peek(named: readonly NamedBucket[]): Promise<BucketState[] | null> {
    const answer = await this.send(named, 0);
    return answer && named.map(({ bucket }, i) => bucketState(bucket, false, backlogOf(answer, i), answer[2]));
  }

  private async takeBatch(batch: readonly (readonly NamedBucket[])[]): Promise<(BucketState[] | null)[]> {
    const shared = new Map<string, SharedTake>();
    batch.forEach((named, request) => {
      const id = named.map(({ name, bucket }) => `${name} ${bucket.capacity} ${bucket.refill}`).join(' ');
      const take = shared.get(id);
      if (take) take.requests.push(request);
      else shared.set(id, { named, requests: [request] });
    });
    const states = batch.map((): BucketState[] | null => null);
    await Promise.all(
      [...shared.values()].map(async ({ named, requests }) => {
        const answer = await this.send(named, requests.length);
        if (answer) requests.forEach((request, i) => (states[request] = statesAfter(named, answer, i)));
      }),
    );
    return states;
  }

  private send(named: readonly NamedBucket[], tokens: number): Promise<Answer | null> {
    const keys = named.map(({ name }) => `rate-limit:${name}`);
    const sizes = named.flatMap(({ bucket: { capacity, refill } }) => [capacity, refill]);
    return this.redis.tryCommand((client) =>
      (client as unknown as TakesTokens).takeTokens(keys.length, ...keys, ...sizes, tokens),
    );
  }
}

/** The states after the request `index` of those that shared the answer, as if each had been sent alone. */
function statesAfter(named: readonly NamedBucket[], answer: Answer, index: number): BucketState[] {
  const [taken, , now] = answer;
  const takenLater = Math.max(0, taken - index - 1);
  return named.map(({ bucket }, i) => {
    const backlog = backlogOf(answer, i) - takenLater * bucket.refill;
    return bucketState(bucket, index < taken || hasToken(bucket, backlog), backlog, now);
  });
}

const backlogOf = ([, first, , second]: Answer, bucket: number): number => (bucket === 0 ? first : (second as number));
