import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Throttle } from '@nestjs/throttler';
import type { Request, Response } from 'express';
import type { IdentifiedRequest } from '../access/access.decorators.js';
import type { Principal } from '../access/principal.js';
import type { Env } from '../platform/config/env.js';
import { RateLimitError } from '../platform/errors/errors.js';
import { isApiRequest } from '../platform/http/server/request-line.js';
import type {
  ThrottlerBucket,
  TokenBucketRecord,
  TokenBucketStorage,
} from '../platform/rate-limit/token-bucket.storage.js';
import { OptionsMiddleware } from './options.middleware.js';
import {
  AddressLimitService,
  addressTracker,
  endUserTracker,
  planThrottler,
  PlanThrottlerGuard,
  principalTracker,
  setLimitHeaders,
} from './plan-throttler.guard.js';

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
    const principal = { accountId: 'a', credential: 'access_token', userId: 'user', limit } as Principal;
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
      { key: expect.stringMatching(/^access-tokens:\{a\}:/), limit: 5, ttl: (5 * MINUTE_MS) / 2.5 },
      { key: 'access-tokens:{a}', limit: 20, ttl: (20 * MINUTE_MS) / 10 },
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
    records = [recordOf(4), recordOf(11)];
    await request();
    expect(headers).toMatchObject({ 'X-RateLimit-Limit': 2, 'X-RateLimit-Remaining': 1 });
  });

  it('tells of the empty bucket when a token comes, and of two empty ones when both have one', async () => {
    records = [recordOf(EMPTY, 24), recordOf(5)];
    expect([await retryAfter(), headers['X-RateLimit-Limit']]).toEqual([24, 2]);
    records = [recordOf(5), recordOf(EMPTY, 6)];
    expect([await retryAfter(), headers['X-RateLimit-Limit']]).toEqual([6, 10]);
    records = [recordOf(EMPTY, 24), recordOf(EMPTY, 6)];
    expect([await retryAfter(), headers['X-RateLimit-Limit']]).toEqual([24, 2]);
    records = [recordOf(EMPTY, 6), recordOf(EMPTY, 6)];
    expect([await retryAfter(), headers['X-RateLimit-Limit']]).toEqual([6, 2]);
    // The end user has tokens left of the burst, which are not shown as remaining.
    records = [recordOf(2), recordOf(EMPTY, 6)];
    expect([await retryAfter(), headers['X-RateLimit-Limit']]).toEqual([6, 10]);
    records = [recordOf(EMPTY, 6), recordOf(10)];
    expect([await retryAfter(), headers['X-RateLimit-Limit']]).toEqual([6, 2]);
    records = [recordOf(EMPTY, 3), recordOf(EMPTY, 6)];
    expect([await retryAfter(), headers['X-RateLimit-Limit']]).toEqual([6, 10]);
  });
});

describe('PlanThrottlerGuard for everybody else (D6)', () => {
  let taken: unknown[][];
  let record: TokenBucketRecord;
  let headers: Record<string, unknown>;

  beforeEach(() => {
    [taken, record, headers] = [[], recordOf(15), {}];
  });

  /** @param own the limit of the route, where it has its own. */
  async function send(
    principal: Partial<Principal> | undefined,
    own?: { limit: number; ttl: number },
  ): Promise<boolean> {
    const buckets = {
      increment: async (...asked: unknown[]) => {
        taken.push(asked);
        return record;
      },
    };
    const guard = new PlanThrottlerGuard(
      { throttlers: [planThrottler({ rate: 30, burst: 60 })] },
      buckets as unknown as TokenBucketStorage,
      new Reflector(),
      { addressRateLimit: { rate: 30, burst: 60 } } as Env,
    );
    await guard.onModuleInit();
    const http = {
      getRequest: () => ({ principal, headers: {}, ip: '10.0.0.1' }),
      getResponse: () => ({ setHeader: (name: string, value: unknown) => (headers[name] = value) }),
    };
    const handler = (): void => undefined;
    if (own) Throttle({ default: own })(handler, undefined as never, { value: handler } as never);
    const context = { switchToHttp: () => http, getHandler: () => handler, getClass: () => PlanThrottlerGuard };
    return await guard.canActivate(context as unknown as ExecutionContext);
  }

  const account: Partial<Principal> = { accountId: 'a', credential: 'api_key', limit: FREE };

  it('takes from the bucket of the account what its plan allows', async () => {
    expect(await send(account)).toBe(true);
    expect(taken).toEqual([['account:a', 2 * MINUTE_MS, 20]]);
    expect(headers).toMatchObject({ 'X-RateLimit-Limit': 10, 'X-RateLimit-Remaining': 5 });
  });

  it('takes from the bucket of the address without valid credentials', async () => {
    record = recordOf(40);
    expect(await send(undefined)).toBe(true);
    expect(taken).toEqual([['address:10.0.0.1', 2 * MINUTE_MS, 60]]);
    expect(headers).toMatchObject({ 'X-RateLimit-Limit': 30, 'X-RateLimit-Remaining': 10 });
  });

  it('refuses when it is empty, with the headers and the time of the next token', async () => {
    record = recordOf(EMPTY, 4);
    await expect(send(account)).rejects.toMatchObject({ status: 429, retryAfter: 4, details: { retry_after: 4 } });
    expect(headers).toMatchObject({ 'X-RateLimit-Limit': 10, 'X-RateLimit-Remaining': 0 });
  });

  it.each([
    ['another number of requests', { limit: 3, ttl: 2 * MINUTE_MS }],
    ['another time', { limit: 20, ttl: MINUTE_MS }],
  ])('gives a route with %s buckets of its own, and shows all of its tokens', async (_, own) => {
    record = recordOf(2);
    await send(account, own);
    await send({ ...account, accountId: 'b' }, own);
    await send({ ...account, credential: 'access_token' }, own);
    expect(taken.map(([, ttl, limit]) => ({ limit, ttl }))).toEqual([own, own, own]);
    expect(new Set(taken.map(([key]) => key)).size).toBe(3);
    expect(taken.map(([key]) => key)).not.toContain('account:a');
    expect(headers).toMatchObject({ 'X-RateLimit-Limit': own.limit, 'X-RateLimit-Remaining': 2 });
  });
});

const record = (tokensLeft: number): TokenBucketRecord => ({ tokensLeft, fullAt: 1_800_000_000 }) as TokenBucketRecord;
const key = (accountId: string): Principal => ({ accountId, credential: 'api_key', userId: null }) as Principal;
const token = (accountId: string, userId: string | null): Principal =>
  ({ accountId, credential: 'access_token', userId }) as Principal;

describe('the buckets of requests', () => {
  it('are one for the key pairs of an account, one for its tokens, and one for each end user', () => {
    const trackers = [
      principalTracker(key('a')),
      principalTracker(key('b')),
      principalTracker(token('a', 'user')),
      principalTracker(token('b', 'user')),
      endUserTracker(token('a', 'user')),
      endUserTracker(token('a', 'other')),
      endUserTracker(token('b', 'user')),
    ];
    expect(new Set(trackers).size).toBe(trackers.length);
    expect(principalTracker(token('a', 'other'))).toBe(principalTracker(token('a', 'user')));
    expect(endUserTracker(token('a', null))).toBe(endUserTracker(token('a', '')));
  });

  it('of an end user and of all tokens lie on one server of a cluster, and hold no identity', () => {
    expect(principalTracker(token('a', 'user'))).toBe('access-tokens:{a}');
    expect(endUserTracker(token('a', 'jane@acme.example'))).toMatch(/^access-tokens:\{a\}:[\w-]{43}$/);
  });

  it.each([
    ['10.0.0.1', 'address:10.0.0.1'],
    ['::ffff:10.0.0.1', 'address:10.0.0.1'],
    [undefined, 'address:unknown'],
  ])('of strangers are one for each address: %s', (ip, tracker) => {
    expect(addressTracker({ ip } as Request)).toBe(tracker);
  });

  it('of strangers are one for an IPv6 /64', () => {
    const of = (ip: string): string => addressTracker({ ip } as Request);
    expect(of('2001:db8:1:2::1')).toBe(of('2001:db8:1:2:ffff::9'));
    expect(of('2001:db8:1:2::1')).not.toBe(of('2001:db8:1:3::1'));
  });

  it('are full again after the burst at the rate: of the plan, and of the address for strangers', () => {
    const { limit, ttl } = planThrottler({ rate: 30, burst: 60 });
    const of = (principal?: Principal) => {
      const context = { switchToHttp: () => ({ getRequest: () => ({ principal }) }) } as unknown as ExecutionContext;
      return [limit, ttl].map((read) => (typeof read === 'function' ? read(context) : read));
    };
    expect(of({ ...key('a'), limit: { rate: 100, burst: 250 } })).toEqual([250, 150_000]);
    expect(of()).toEqual([60, 120_000]);
  });
});

describe('the limit headers (D6)', () => {
  const shown = (limit: number, headroom: number, tokensLeft: number): unknown[] => {
    const headers: Record<string, unknown> = {};
    const response = { setHeader: (name: string, value: unknown) => (headers[name] = value) };
    setLimitHeaders(response as unknown as Response, { limit, headroom, record: record(tokensLeft) });
    expect(headers['X-RateLimit-Reset']).toBe(1_800_000_000);
    return [headers['X-RateLimit-Limit'], headers['X-RateLimit-Remaining']];
  };

  it.each([
    [10, 10, 19, 10, 9],
    [10, 10, 11, 10, 1],
    [10, 10, 10, 10, 0],
    [10, 10, 3, 10, 0],
    [10, 10, -2, 10, 0],
    [2.5, 2.5, 5, 2, 2],
    [0.5, 0.5, 1, 1, 0],
    [0.25, 0, 1, 1, 1],
  ])('of a rate of %d with %d above it and %d tokens left are %d and %d', (limit, headroom, left, ...values) => {
    expect(shown(limit, headroom, left)).toEqual(values);
  });
});

describe('what takes no token (D6)', () => {
  let peeked: unknown[][];
  let headers: Record<string, unknown>;
  let ended: number | null;
  let middleware: OptionsMiddleware;

  beforeEach(() => {
    [peeked, headers, ended] = [[], {}, null];
    const buckets = {
      peek: async (...asked: unknown[]) => {
        peeked.push(asked);
        return record(50);
      },
    };
    const env = { addressRateLimit: { rate: 30, burst: 60 } } as Env;
    middleware = new OptionsMiddleware(new AddressLimitService(buckets as unknown as TokenBucketStorage, env));
  });

  const requestOf = (method: string, path: string) => ({ method, path, ip: '10.0.0.1' }) as IdentifiedRequest;
  const response = () =>
    ({
      setHeader: (name: string, value: unknown) => (headers[name] = value),
      status(code: number) {
        return { end: () => (ended = code) };
      },
    }) as unknown as Response;

  it('OPTIONS shows the bucket of the address before anything else answers', async () => {
    let atNext: object = {};
    await middleware.use(requestOf('OPTIONS', '/v1/recordings'), response(), () => (atNext = { ...headers }));
    expect(peeked).toEqual([['address:10.0.0.1', 120_000, 60]]);
    expect(atNext).toEqual({
      'X-RateLimit-Limit': 30,
      'X-RateLimit-Remaining': 20,
      'X-RateLimit-Reset': 1_800_000_000,
    });
  });

  it.each([
    ['GET', '/v1/recordings'],
    ['OPTIONS', '/metrics'],
  ])('%s %s goes on without', async (method, path) => {
    const next = jest.fn();
    await middleware.use(requestOf(method, path), response(), next);
    expect([peeked, headers, next.mock.calls.length]).toEqual([[], {}, 1]);
  });

  it('OPTIONS that nobody has answered is 204, other methods go on', () => {
    const next = jest.fn();
    middleware.answer(requestOf('OPTIONS', '/v1'), response(), next);
    expect([ended, next.mock.calls.length]).toEqual([204, 0]);
    ended = null;
    middleware.answer(requestOf('GET', '/v1'), response(), next);
    expect([ended, next.mock.calls.length]).toEqual([null, 1]);
  });

  it.each([
    ['/v1', true],
    ['/v1/', true],
    ['/v1/recordings', true],
    ['/v10', false],
    ['/v1x/recordings', false],
    ['/health/live', false],
    ['/docs/v1/', false],
  ])('%s is under the API: %s', (path, is) => {
    expect(isApiRequest({ path } as Request)).toBe(is);
  });
});
