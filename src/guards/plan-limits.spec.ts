import type { ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { IdentifiedRequest } from '../access/current-principal.decorator.js';
import type { Principal } from '../access/principal.js';
import type { Env } from '../platform/config/env.js';
import type { TokenBucketRecord, TokenBucketStorage } from '../platform/rate-limit/token-bucket.storage.js';
import { AddressLimitService } from './address-limit.service.js';
import { isApiRequest } from '../platform/http/server/api-path.js';
import { OptionsMiddleware } from './options.middleware.js';
import { addressTracker, endUserTracker, planThrottler, principalTracker, setLimitHeaders } from './plan-limits.js';

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
