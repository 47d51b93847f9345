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
import { Env } from '../platform/config/env.js';
import { RateLimitError } from '../platform/errors/errors.js';
import { TokenBucketStorage } from '../platform/rate-limit/token-bucket.storage.js';
import { addressTracker, bucketSize, planLimitOf, setLimitHeaders } from './plan-limits.js';

/**
 * Takes one token from the bucket of the account, or of the client's address where the credentials are not valid, and
 * refuses the request when the bucket is empty (D6). A route with its own `@Throttle({ default: { limit, ttl } })` has a
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
    const isPlan = limit === size.limit && ttl === size.ttl;

    const tracker = await getTracker(caller, context);
    const key = isPlan ? tracker : generateKey(context, tracker, throttler.name ?? 'default');
    const record = await this.buckets.increment(key, ttl, limit);
    const shown = isPlan ? { limit: plan.rate, headroom: plan.burst - plan.rate } : { limit, headroom: 0 };
    setLimitHeaders(http.getResponse<Response>(), { ...shown, record });
    if (record.isBlocked) {
      await this.throwThrottlingException(context, { ...record, limit, ttl, key, tracker });
    }
    return true;
  }

  protected override async getTracker(request: IdentifiedRequest): Promise<string> {
    const { principal } = request;
    return principal ? `account:${principal.accountId}` : addressTracker(request);
  }

  protected override throwThrottlingException(_: ExecutionContext, detail: ThrottlerLimitDetail): Promise<void> {
    throw new RateLimitError(detail.timeToBlockExpire);
  }
}
