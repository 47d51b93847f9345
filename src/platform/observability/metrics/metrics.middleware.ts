import { Injectable, type NestMiddleware } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { Histogram, Registry } from 'prom-client';

/** Measures every request, by method, route and status. */
@Injectable()
export class MetricsMiddleware implements NestMiddleware {
  private readonly requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Duration of HTTP requests in seconds, by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60],
    registers: [],
  });

  constructor(registry: Registry) {
    registry.registerMetric(this.requests);
  }

  use(request: Request, response: Response, next: NextFunction): void {
    const stop = this.requests.startTimer();
    response.on('close', () => {
      const route = (request.route as { path?: unknown } | undefined)?.path;
      const known = typeof route === 'string' ? route : 'unknown';
      stop({
        method: KNOWN_METHODS.has(request.method) ? request.method : 'other',
        route: known,
        status: response.statusCode,
      });
    });
    next();
  }
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
