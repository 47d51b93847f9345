import { createHash, timingSafeEqual } from 'node:crypto';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../../access/access.decorators.js';
import { Env } from '../../platform/config/env.js';
import { AuthenticationError } from '../../platform/errors/errors.js';
import { MetricsMiddleware } from '../../platform/observability/metrics.middleware.js';

/** Headers that proxies add. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via'];
const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;

@ApiExcludeController()
@Controller('metrics')
export class MetricsController {
  constructor(
    private readonly metrics: MetricsMiddleware,
    private readonly env: Env,
  ) {}

  @Get()
  @Public()
  async scrape(@Req() request: Request, @Res() response: Response): Promise<void> {
    if (!this.isAllowed(request))
      throw new AuthenticationError('Send the METRICS_TOKEN of this service as a Bearer token.');
    response.setHeader('Content-Type', this.metrics.registry.contentType);
    response.end(await this.metrics.registry.metrics());
  }

  /**
   * By token where there is one; without one only to the machine itself in production (D31). A proxy on the same machine
   * also connects from there, for anybody.
   */
  private isAllowed(request: Request): boolean {
    const { metricsToken, nodeEnv } = this.env;
    if (metricsToken !== null) return sameText(request.get('authorization') ?? '', `Bearer ${metricsToken}`);
    if (this.env.trustProxy !== false || FORWARDED.some((name) => request.headers[name] !== undefined)) return false;
    // The socket's address, which no header can change.
    return nodeEnv !== 'production' || LOOPBACK.test(request.socket.remoteAddress ?? '');
  }
}

function sameText(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
