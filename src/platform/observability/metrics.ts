import { Injectable, type NestMiddleware } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { EventBus } from '../database/event-bus.js';
import { CONNECTION_LIMITS, type ConnectionLimiter } from '../http/server/connection-limiter.js';

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

/** The Prometheus metrics of this process, to which each part adds its own. Labels never hold values chosen by clients. */
export function createMetricsRegistry(bus: EventBus): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const help = 'Extension listeners that failed and were rolled back since the process started.';
  registry.registerMetric(valueGauge('extension_listener_failures', help, () => bus.listenerFailures));
  return registry;
}

/** A gauge of a value that is read for each scrape. Null leaves the metric out: no figure is better than an old one. */
export function valueGauge(name: string, help: string, read: () => number | null | Promise<number | null>): Gauge {
  return new Gauge({
    name,
    help,
    registers: [],
    async collect() {
      const value = await read();
      if (value === null) this.remove();
      else this.set(value);
    },
  });
}

/** What the HTTP server, which is older than the registry, counts by itself. */
export function addConnectionMetrics(registry: Registry, limiter: ConnectionLimiter): void {
  const open: Gauge = new Gauge({
    name: 'http_connections',
    help: 'Open HTTP connections.',
    registers: [registry],
    collect: () => open.set(limiter.open),
  });
  const hits: Counter<'limit'> = new Counter({
    name: 'http_connection_limit_hits_total',
    help: 'Connections refused or closed because of a limit, by limit.',
    labelNames: ['limit'],
    registers: [registry],
    collect: () => {
      hits.reset();
      for (const limit of CONNECTION_LIMITS) hits.inc({ limit }, limiter.hits.get(limit) ?? 0);
    },
  });
}
