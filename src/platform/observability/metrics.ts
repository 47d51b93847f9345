import { Injectable, type NestMiddleware } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { DatabaseService } from '../database/database.service.js';
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
      stop({ method: knownMethodOf(request), route: routeOf(request), status: response.statusCode });
    });
    next();
  }
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export const knownMethodOf = ({ method }: Request): string => (KNOWN_METHODS.has(method) ? method : 'other');

/** With the names of its parameters in place of their values. */
export function routeOf(request: Request): string {
  const route = (request.route as { path?: unknown } | undefined)?.path;
  return typeof route === 'string' ? route : 'unknown';
}

/** The Prometheus metrics of this process, to which each part adds its own. Labels never hold values chosen by clients. */
export function createMetricsRegistry(bus: EventBus, database: DatabaseService): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const help = 'Extension listeners that failed and were rolled back since the process started.';
  addGauge(registry, 'extension_listener_failures', help, () => bus.listenerFailures);
  addPoolMetrics(registry, database);
  return registry;
}

function addPoolMetrics(registry: Registry, database: DatabaseService): void {
  const { pool } = database;
  const open = 'Connections to Postgres that this process has open.';
  addGauge(registry, 'database_connections', open, () => pool.totalCount);
  addGauge(registry, 'database_connections_in_use', 'Those in use.', () => pool.totalCount - pool.idleCount);
  const most = 'How many connections it may open (POOL_SIZE).';
  addGauge(registry, 'database_connections_max', most, () => pool.options.max);
  addGauge(registry, 'database_connection_waiters', 'Statements that wait for a connection.', () => pool.waitingCount);
}

/** Adds a gauge of a value that is read for each scrape. Null leaves the metric out: no figure is better than an old one. */
export function addGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | null | Promise<number | null>,
): void {
  void new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      const value = await read();
      if (value === null) this.remove();
      else this.set(value);
    },
  });
}

/** Label values are never chosen by clients. */
export interface LabelledValue {
  labels: Record<string, string>;
  value: number;
}

/** Adds a gauge of several values, each with its labels. Null, or a value that is no longer read, leaves them out. */
export function addLabelledGauge(
  registry: Registry,
  { name, help, labelNames }: { name: string; help: string; labelNames: readonly string[] },
  read: () => Promise<readonly LabelledValue[] | null>,
): void {
  void new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    async collect() {
      const rows = (await read()) ?? [];
      this.reset();
      for (const { labels, value } of rows) this.set(labels, value);
    },
  });
}

/** What was repaired, and why it was broken: see docs/operations.md. */
const REPAIRS = [
  'recording_taken_over',
  'recording_given_up',
  'delivery_taken_over',
  'delivery_job_lost',
  'object_abandoned',
  'spool_file_abandoned',
] as const;
export type Repair = (typeof REPAIRS)[number];

const REPAIRS_NAME = 'repairs_total';

/** The counter of what crashes and lost jobs left behind, and this process has repaired; one in each registry. */
export function repairsOf(registry: Registry): Counter<'kind'> {
  const existing = registry.getSingleMetric(REPAIRS_NAME);
  if (existing) return existing as Counter<'kind'>;
  const help = 'What crashes and lost jobs left behind, and this process has repaired, by kind.';
  const repairs = new Counter({ name: REPAIRS_NAME, help, labelNames: ['kind'], registers: [registry] });
  // A first repair is an increase only from a zero.
  for (const kind of REPAIRS) repairs.inc({ kind }, 0);
  return repairs;
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
