import type { ExecutionContext } from '@nestjs/common';
import { normalizeIp, type ThrottlerOptions } from '@nestjs/throttler';
import type { Request, Response } from 'express';
import type { IdentifiedRequest } from '../access/current-principal.decorator.js';
import type { RateLimit } from '../platform/config/env.js';
import type { TokenBucketRecord } from '../platform/rate-limit/token-bucket.storage.js';

const MINUTE_MS = 60_000;

/** A rate limit in the throttler's terms: a bucket of `limit` tokens that an idle client finds full again after `ttl`. */
export interface BucketSize {
  limit: number;
  /** Milliseconds. */
  ttl: number;
}

export const bucketSize = ({ rate, burst }: RateLimit): BucketSize => ({
  limit: burst,
  ttl: (burst * MINUTE_MS) / rate,
});

/** The limit of the account's plan, or that of the client's address where the credentials are not valid (D6). */
export function planLimitOf(request: IdentifiedRequest, addressLimit: RateLimit): RateLimit {
  return request.principal?.limit ?? addressLimit;
}

/** The throttler that applies to every route without one of its own; `@Throttle({ default: … })` replaces it. */
export function planThrottler(addressLimit: RateLimit): ThrottlerOptions {
  const sizeOf = (context: ExecutionContext): BucketSize =>
    bucketSize(planLimitOf(context.switchToHttp().getRequest<IdentifiedRequest>(), addressLimit));
  return { name: 'default', limit: (context) => sizeOf(context).limit, ttl: (context) => sizeOf(context).ttl };
}

/** One bucket for an IPv4 address and for an IPv6 /64, since one customer owns all of the latter. */
export function addressTracker({ ip }: Request): string {
  return `address:${normalizeIp(ip ?? 'unknown')}`;
}

/**
 * The three headers of every response under `/v1` (D6).
 * @param limit requests a minute, for `X-RateLimit-Limit`.
 * @param headroom tokens that are not shown as remaining: the burst above the rate.
 */
export function setLimitHeaders(
  response: Response,
  { limit, headroom, record }: { limit: number; headroom: number; record: TokenBucketRecord },
): void {
  response.setHeader('X-RateLimit-Limit', limit);
  response.setHeader('X-RateLimit-Remaining', Math.max(0, record.tokensLeft - headroom));
  response.setHeader('X-RateLimit-Reset', record.fullAt);
}
