import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  InjectThrottlerOptions,
  InjectThrottlerStorage,
  ThrottlerGuard,
  type ThrottlerLimitDetail,
  type ThrottlerModuleOptions,
  type ThrottlerRequest,
} from '@nestjs/throttler';
import type { Response } from 'express';
import type { IdentifiedRequest } from '../access/current-principal.decorator.js';
import type { Principal } from '../access/principal.js';
import { Env, type RateLimit } from '../platform/config/env.js';
import { RateLimitError } from '../platform/errors/errors.js';
import { TokenBucketStorage } from '../platform/rate-limit/token-bucket.storage.js';
import {
  addressTracker,
  bucketSize,
  endUserLimit,
  endUserTracker,
  planLimitOf,
  principalTracker,
  remaining,
  setLimitHeaders,
  type ShownLimit,
} from './plan-limits.js';

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
