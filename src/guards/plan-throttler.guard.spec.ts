import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Principal } from '../access/principal.js';
import type { Env } from '../platform/config/env.js';
import { RateLimitError } from '../platform/errors/errors.js';
import type {
  ThrottlerBucket,
  TokenBucketRecord,
  TokenBucketStorage,
} from '../platform/rate-limit/token-bucket.storage.js';
import { planThrottler } from './plan-limits.js';
import { PlanThrottlerGuard } from './plan-throttler.guard.js';

const FREE = { rate: 10, burst: 20 };
const MINUTE_MS = 60_000;

/** A bucket with so many tokens left; an empty one has the next token in `seconds`. */
const recordOf = (tokensLeft: number, seconds = 1): TokenBucketRecord => ({
  totalHits: 0,
  timeToExpire: 0,
  isBlocked: tokensLeft < 0,
  timeToBlockExpire: seconds,
  tokensLeft: Math.max(0, tokensLeft),
  fullAt: 1_800_000_000 + seconds,
});
const EMPTY = -1;

describe('PlanThrottlerGuard for an access token (D35)', () => {
  /** Of the end user, and the one that all tokens of the account share. */
  let records: [TokenBucketRecord, TokenBucketRecord];
  let taken: [ThrottlerBucket, ThrottlerBucket];
  let headers: Record<string, unknown>;
  let guard: PlanThrottlerGuard;

  beforeEach(async () => {
    headers = {};
    const buckets = {
      incrementBoth: async (...both: [ThrottlerBucket, ThrottlerBucket]) => {
        taken = both;
        return records;
      },
    };
    guard = new PlanThrottlerGuard(
      { throttlers: [planThrottler(FREE)] },
      buckets as unknown as TokenBucketStorage,
      new Reflector(),
      { addressRateLimit: FREE } as Env,
    );
    await guard.onModuleInit();
  });

  function request(limit = FREE): Promise<boolean> {
    const principal = { accountId: 'a', credential: 'access_token', identity: 'user', limit } as Principal;
    const http = {
      getRequest: () => ({ principal, headers: {} }),
      getResponse: () => ({ setHeader: (name: string, value: unknown) => (headers[name] = value) }),
    };
    const context = { switchToHttp: () => http, getHandler: () => request, getClass: () => PlanThrottlerGuard };
    return guard.canActivate(context as unknown as ExecutionContext);
  }

  const retryAfter = async (): Promise<number> => {
    const error: unknown = await request().catch((refusal: unknown) => refusal);
    expect(error).toBeInstanceOf(RateLimitError);
    return (error as RateLimitError).details['retry_after'] as number;
  };

  it('takes from a quarter of the plan for its end user, fractions included, and from the whole for all', async () => {
    records = [recordOf(4), recordOf(19)];
    await request();
    expect(taken).toMatchObject([
      { limit: 5, ttl: (5 * MINUTE_MS) / 2.5 },
      { limit: 20, ttl: (20 * MINUTE_MS) / 10 },
    ]);
    await request({ rate: 2, burst: 2 });
    expect(taken).toMatchObject([
      { limit: 1, ttl: MINUTE_MS / 0.5 },
      { limit: 2, ttl: MINUTE_MS },
    ]);
    await request({ rate: 2, burst: 7 });
    expect(taken).toMatchObject([{ limit: 1 }, { limit: 7 }]);
  });

  it('shows the bucket with fewer requests left', async () => {
    records = [recordOf(4), recordOf(19)];
    await request();
    expect(headers).toMatchObject({ 'X-RateLimit-Limit': 2, 'X-RateLimit-Remaining': 1 });
    records = [recordOf(4), recordOf(0)];
    await request();
    expect(headers).toMatchObject({ 'X-RateLimit-Limit': 10, 'X-RateLimit-Remaining': 0 });
  });

  it('tells of the empty bucket when a token comes, and of two empty ones when both have one', async () => {
    records = [recordOf(EMPTY, 24), recordOf(5)];
    expect([await retryAfter(), headers['X-RateLimit-Limit']]).toEqual([24, 2]);
    records = [recordOf(5), recordOf(EMPTY, 6)];
    expect([await retryAfter(), headers['X-RateLimit-Limit']]).toEqual([6, 10]);
    records = [recordOf(EMPTY, 24), recordOf(EMPTY, 6)];
    expect([await retryAfter(), headers['X-RateLimit-Limit']]).toEqual([24, 2]);
    records = [recordOf(EMPTY, 3), recordOf(EMPTY, 6)];
    expect([await retryAfter(), headers['X-RateLimit-Limit']]).toEqual([6, 10]);
  });
});
