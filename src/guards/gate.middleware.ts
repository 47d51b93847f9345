import { Injectable, type NestMiddleware } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import ipaddr from 'ipaddr.js';
import { Env } from '../platform/config/env.js';
import { ServiceUnavailableError } from '../platform/errors/errors.js';
import type { BucketState } from '../platform/rate-limit/bucket-state.js';
import { TokenBucket } from '../platform/rate-limit/token-bucket.js';
import { AuthenticatorService } from './authenticator.service.js';
import { setVerdict, type Verdict } from './verdict.js';

/** Reads of one request's credentials; more than one only where they change at that very moment. */
const MAX_READS = 3;

/**
 * What every request under `/v1` passes first, whatever becomes of it: it is identified, one token is taken (the
 * account's, or the address's when the credentials fail), the three limit headers are set, and the verdict is left for
 * the guards. A middleware, because guards see neither unknown paths nor malformed URLs.
 */
@Injectable()
export class Gate implements NestMiddleware {
  constructor(
    private readonly authenticator: AuthenticatorService,
    private readonly buckets: TokenBucket,
    private readonly env: Env,
  ) {}

  async use(request: Request, response: Response, next: NextFunction): Promise<void> {
    // Not `url`: a request line may also name the whole address, or a fragment.
    if (!/^\/v1(\/|$)/.test(request.path)) {
      next();
      return;
    }
    const verdict = await this.judge(request);
    setVerdict(request, verdict);
    setHeaders(response, verdict.bucket);
    next();
  }

  private async judge(request: Request): Promise<Verdict> {
    // OPTIONS is answered without credentials and takes no token (D6): browsers send it before every call.
    if (request.method === 'OPTIONS')
      return { principal: null, bucket: await this.lookAtAddress(request), failure: null };
    try {
      return (
        (await this.admit(request)) ?? { principal: null, bucket: await this.takeOfAddress(request), failure: null }
      );
    } catch (error) {
      return { principal: null, bucket: await this.lookAtAddress(request), failure: error as Error };
    }
  }

  /** Null when the credentials are not valid. What is remembered of them counts only while the limiter agrees. */
  private async admit(request: Request): Promise<Verdict | null> {
    for (let reads = 0; reads <= MAX_READS; reads++) {
      const isFresh = reads > 0;
      const known = isFresh ? null : this.authenticator.recall(request.headers);
      const found = known ?? (await this.authenticator.authenticate(request.headers, isFresh));
      if (!found) return null;
      const { principal, epoch } = found;
      const bucket = await this.buckets.takeFor({ accountId: principal.accountId, epoch, isFresh }, principal.limit);
      if (!bucket) continue;
      this.authenticator.countUse(found);
      return { principal, bucket, failure: null };
    }
    throw new ServiceUnavailableError(1);
  }

  private takeOfAddress(request: Request): Promise<BucketState> {
    return this.buckets.take(addressBucket(request), this.env.addressRateLimit);
  }

  private lookAtAddress(request: Request): Promise<BucketState> {
    return this.buckets.look(addressBucket(request), this.env.addressRateLimit);
  }
}

function setHeaders(response: Response, bucket: BucketState): void {
  // Answers hold what people said, and sometimes secrets: no cache may keep them.
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('X-RateLimit-Limit', bucket.limit);
  response.setHeader('X-RateLimit-Remaining', bucket.remaining);
  response.setHeader('X-RateLimit-Reset', bucket.reset);
}

const IPV6_NETWORK_BYTES = 8;

/** One bucket for an IPv4 address, one for an IPv6 /64: a single customer owns all of the latter. */
function addressBucket(request: Request): string {
  const text = request.ip ?? '';
  if (!ipaddr.isValid(text)) return 'address:unknown';
  const address = ipaddr.process(text);
  if (address.kind() === 'ipv4') return `address:${address.toString()}`;
  return `address:${Buffer.from(address.toByteArray()).toString('hex', 0, IPV6_NETWORK_BYTES)}`;
}
