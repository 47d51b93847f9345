import { Injectable, type NestMiddleware } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { EventBus } from '../events/event-bus.js';

/** The figures of this process, for Prometheus. Labels never hold anything that a client chose. */
@Injectable()
export class MetricsMiddleware implements NestMiddleware {
  readonly registry = new Registry();
  private readonly requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from request to answer, by route.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60],
    registers: [this.registry],
  });

  constructor(bus: EventBus) {
    collectDefaultMetrics({ register: this.registry });
    this.registry.registerMetric(listenerFailures(bus));
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

function listenerFailures(bus: EventBus): Gauge {
  return new Gauge({
    name: 'extension_listener_failures',
    help: 'Errors of listeners that were undone, since the start of the process.',
    registers: [],
    collect() {
      this.set(bus.listenerFailures);
    },
  });
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
