import { type ExecutionContext, Injectable } from '@nestjs/common';
import { ThrottlerGuard } from '@nestjs/throttler';
import type { Request } from 'express';
import { RateLimitError } from '../platform/errors/errors.js';
import { verdictOf } from './verdict.js';

/**
 * Nest's throttler, limited by plan: the gate has already asked the bucket, so that the headers stand on every
 * response; here an empty one becomes a 429. The stock storage counts hits per route and window and cannot hold tokens,
 * and there is nothing to be read from decorators.
 */
@Injectable()
export class PlanThrottlerGuard extends ThrottlerGuard {
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const verdict = verdictOf(context.switchToHttp().getRequest<Request>());
    if (verdict && !verdict.bucket.taken && !verdict.failure) throw new RateLimitError(verdict.bucket.retryAfter);
    return true;
  }
}
