import { createHash } from 'node:crypto';
import type { ExecutionContext } from '@nestjs/common';
import { normalizeIp, type ThrottlerOptions } from '@nestjs/throttler';
import type { Request, Response } from 'express';
import type { IdentifiedRequest } from '../access/current-principal.decorator.js';
import type { Principal } from '../access/principal.js';
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

/** What one end user may use of the plan, so that none takes the share of the others (D35). */
export const endUserLimit = ({ rate, burst }: RateLimit): RateLimit => ({
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
  const userHash = createHash('sha256')
    .update(principal.userId ?? '')
    .digest('base64url');
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
export const remaining = ({ headroom, record }: Omit<ShownLimit, 'limit'>): number =>
  Math.max(0, Math.floor(record.tokensLeft - headroom));
