import { Counter, Gauge, type Registry } from 'prom-client';
import { CONNECTION_LIMITS, type ConnectionLimiter } from '../../http/server/connections/connection-limiter.js';

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
