import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Env } from '../platform/config/env.js';
import { TokenBucketStorage } from '../platform/rate-limit/token-bucket.storage.js';
import { addressTracker, bucketSize, setLimitHeaders } from './plan-limits.js';

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
