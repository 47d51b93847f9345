import { hash } from 'node:crypto';
import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  InjectThrottlerOptions,
  InjectThrottlerStorage,
  normalizeIp,
  ThrottlerGuard,
  type ThrottlerLimitDetail,
  type ThrottlerModuleOptions,
  type ThrottlerOptions,
  type ThrottlerRequest,
} from '@nestjs/throttler';
import type { Request, Response } from 'express';
import type { IdentifiedRequest } from '../access/access.decorators.js';
import type { Principal } from '../access/principal.js';
import { Env, type RateLimit } from '../platform/config/env.js';
import { RateLimitError } from '../platform/errors/errors.js';
import { type TokenBucketRecord, TokenBucketStorage } from '../platform/rate-limit/token-bucket.storage.js';

/**
 * Takes one token from the bucket of the account, or of the client's address where the credentials are not valid, and
 * refuses the request when the bucket is empty (D6). An access token takes from two buckets, that of its end user and the
 * one that all tokens of the account share (D35). A route with its own `@Throttle({ default: { limit, ttl } })` has a
 * bucket of its own for each account instead; `@SkipThrottle()` takes no token and sets no headers.
 */
@Injectable()
export class PlanThrottlerGuard extends ThrottlerGuard {
  constructor(
    @InjectThrottlerOptions() options: ThrottlerModuleOptions,
    @InjectThrottlerStorage() private readonly buckets: TokenBucketStorage,
    reflector: Reflector,
    private readonly env: Env,
  ) {
    super(options, buckets, reflector);
  }

  protected override async handleRequest(request: ThrottlerRequest): Promise<boolean> {
    const { context, limit, ttl, throttler, getTracker, generateKey } = request;
    const http = context.switchToHttp();
    const caller = http.getRequest<IdentifiedRequest>();
    const plan = planLimitOf(caller, this.env.addressRateLimit);
    const size = bucketSize(plan);
    // The limit that `@Throttle` gives a route reaches this method as that of the plan does: in `limit` and `ttl`.
    const isPlan = limit === size.limit && ttl === size.ttl;
    const tracker = await getTracker(caller, context);
    const key = isPlan ? tracker : generateKey(context, tracker, throttler.name ?? 'default');
    const shown = isPlan
      ? await this.takeFromPlan(caller, plan, key)
      : { limit, headroom: 0, record: await this.buckets.increment(key, ttl, limit) };
    setLimitHeaders(http.getResponse<Response>(), shown);
    if (shown.record.isBlocked) {
      await this.throwThrottlingException(context, { ...shown.record, limit, ttl, key, tracker });
    }
    return true;
  }

  private async takeFromPlan({ principal }: IdentifiedRequest, plan: RateLimit, key: string): Promise<ShownLimit> {
    if (principal?.credential === 'access_token') return await this.takeAsEndUser(principal, plan);
    const { ttl, limit } = bucketSize(plan);
    return { ...shownAs(plan), record: await this.buckets.increment(key, ttl, limit) };
  }

  /** @returns the bucket that is empty, else the one with fewer requests left. */
  private async takeAsEndUser(principal: Principal, plan: RateLimit): Promise<ShownLimit> {
    const ownLimit = endUserLimit(plan);
    const [ownRecord, sharedRecord] = await this.buckets.incrementBoth(
      { key: endUserTracker(principal), ...bucketSize(ownLimit) },
      { key: principalTracker(principal), ...bucketSize(plan) },
    );
    const own = { ...shownAs(ownLimit), record: ownRecord };
    const shared = { ...shownAs(plan), record: sharedRecord };
    if (ownRecord.isBlocked !== sharedRecord.isBlocked) return ownRecord.isBlocked ? own : shared;
    if (ownRecord.isBlocked) return ownRecord.timeToBlockExpire >= sharedRecord.timeToBlockExpire ? own : shared;
    return remaining(own) <= remaining(shared) ? own : shared;
  }

  protected override async getTracker(request: IdentifiedRequest): Promise<string> {
    const { principal } = request;
    return principal ? principalTracker(principal) : addressTracker(request);
  }

  protected override throwThrottlingException(_: ExecutionContext, detail: ThrottlerLimitDetail): Promise<void> {
    throw new RateLimitError(detail.timeToBlockExpire);
  }
}

const shownAs = ({ rate, burst }: RateLimit) => ({ limit: rate, headroom: burst - rate });

const MINUTE_MS = 60_000;

/** A rate limit in the throttler's terms: a bucket of `limit` tokens that an idle client finds full again after `ttl`. */
interface BucketSize {
  limit: number;
  /** Milliseconds. */
  ttl: number;
}

const bucketSize = ({ rate, burst }: RateLimit): BucketSize => ({
  limit: burst,
  ttl: (burst * MINUTE_MS) / rate,
});

/** The limit of the account's plan, or that of the client's address where the credentials are not valid (D6). */
function planLimitOf(request: IdentifiedRequest, addressLimit: RateLimit): RateLimit {
  return request.principal?.limit ?? addressLimit;
}

/** What one end user may use of the plan, so that none takes the share of the others (D35). */
const endUserLimit = ({ rate, burst }: RateLimit): RateLimit => ({
  rate: rate / 4,
  burst: Math.max(1, Math.floor(burst / 4)),
});

/** The throttler that applies to every route without one of its own; `@Throttle({ default: … })` replaces it. */
export function planThrottler(addressLimit: RateLimit): ThrottlerOptions {
  const sizeOf = (context: ExecutionContext): BucketSize =>
    bucketSize(planLimitOf(context.switchToHttp().getRequest<IdentifiedRequest>(), addressLimit));
  return { name: 'default', limit: (context) => sizeOf(context).limit, ttl: (context) => sizeOf(context).ttl };
}

/**
 * One bucket for the key pairs of an account, and another for its access tokens: an app that is used by many must not
 * keep the account's own server out (D35).
 */
export function principalTracker({ accountId, credential }: Principal): string {
  return credential === 'access_token' ? `access-tokens:{${accountId}}` : `account:${accountId}`;
}

/** The bucket of one end user of an account, beside the one that the account's access tokens share. */
export function endUserTracker(principal: Principal): string {
  const userHash = hash('sha256', principal.userId ?? '', 'base64url');
  return `${principalTracker(principal)}:${userHash}`;
}

/** One bucket for an IPv4 address and for an IPv6 /64, since one customer owns all of the latter. */
export function addressTracker({ ip }: Request): string {
  return `address:${normalizeIp(ip ?? 'unknown')}`;
}

/** A bucket after a request, as the headers show it. */
export interface ShownLimit {
  /** Requests a minute. An end user's may have a fraction, which is not shown. */
  limit: number;
  /** Tokens that are not shown as remaining: the burst above the rate. */
  headroom: number;
  record: TokenBucketRecord;
}

/** The three headers of every response under `/v1` (D6). */
export function setLimitHeaders(response: Response, { limit, headroom, record }: ShownLimit): void {
  response.setHeader('X-RateLimit-Limit', Math.max(1, Math.floor(limit)));
  response.setHeader('X-RateLimit-Remaining', remaining({ headroom, record }));
  response.setHeader('X-RateLimit-Reset', record.fullAt);
}

/** Requests left before the burst is used. */
const remaining = ({ headroom, record }: Omit<ShownLimit, 'limit'>): number =>
  Math.max(0, Math.floor(record.tokensLeft - headroom));

/** The limit headers of a response that is sent before a token could be taken: OPTIONS, and a 503 (D6). */
@Injectable()
export class AddressLimitService {
  constructor(
    private readonly buckets: TokenBucketStorage,
    private readonly env: Env,
  ) {}

  /** Shows the bucket of the client's address and takes nothing from it. */
  async showHeaders(request: Request, response: Response): Promise<void> {
    const { rate, burst } = this.env.addressRateLimit;
    const { limit, ttl } = bucketSize({ rate, burst });
    const record = await this.buckets.peek(addressTracker(request), ttl, limit);
    setLimitHeaders(response, { limit: rate, headroom: burst - rate, record });
  }
}
