import { EventEmitter } from 'node:events';
import type { Request, Response } from 'express';
import { Registry } from 'prom-client';
import type { DatabaseService } from '../database/database.service.js';
import type { EventBus } from '../database/event-bus.js';
import { CONNECTION_LIMITS, type ConnectionLimiter } from '../http/server/connection-limiter.js';
import {
  addConnectionMetrics,
  createMetricsRegistry,
  addLabelledGauge,
  type LabelledValue,
  MetricsMiddleware,
  repairsOf,
} from './metrics.js';

describe('MetricsMiddleware', () => {
  const bus = { listenerFailures: 3 } as EventBus;
  const pool = { totalCount: 7, idleCount: 2, waitingCount: 1, options: { max: 20 } };
  let registry: Registry;
  let metrics: MetricsMiddleware;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    registry = createMetricsRegistry(bus, { pool } as DatabaseService);
    metrics = new MetricsMiddleware(registry);
  });

  afterEach(() => jest.useRealTimers());

  function answer(method: string, route: unknown, status = 200, { aborted = false } = {}): void {
    const response = Object.assign(new EventEmitter(), { statusCode: status });
    const next = jest.fn();
    metrics.use({ method, route } as Request, response as unknown as Response, next);
    expect(next.mock.calls).toEqual([[]]);
    if (!aborted) response.emit('finish');
    response.emit('close');
  }

  const lines = async (name: string): Promise<string[]> =>
    (await registry.getSingleMetricAsString(name)).split('\n').filter((line) => !line.startsWith('#'));
  const counts = async (): Promise<string[]> =>
    (await lines('http_request_duration_seconds')).filter((line) => line.includes('_count'));

  it('counts each answer once, by method, route and status; also one that the client did not wait for', async () => {
    answer('GET', { path: '/v1/recordings/:recording_id' });
    answer('GET', { path: '/v1/recordings/:recording_id' }, 200, { aborted: true });
    answer('POST', { path: '/v1/recordings' }, 503);
    expect(await counts()).toEqual([
      'http_request_duration_seconds_count{method="GET",route="/v1/recordings/:recording_id",status="200"} 2',
      'http_request_duration_seconds_count{method="POST",route="/v1/recordings",status="503"} 1',
    ]);
  });

  it.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'labels the method %s with its name',
    async (method) => {
      answer(method, { path: '/' });
      expect(await counts()).toEqual([
        `http_request_duration_seconds_count{method="${method}",route="/",status="200"} 1`,
      ]);
    },
  );

  it('puts no text of a client into a label', async () => {
    answer('PROPFIND', undefined, 404);
    answer('GET', { path: /^secret$/ }, 404);
    expect(await counts()).toEqual([
      'http_request_duration_seconds_count{method="other",route="unknown",status="404"} 1',
      'http_request_duration_seconds_count{method="GET",route="unknown",status="404"} 1',
    ]);
  });

  it('measures in seconds, from 5 ms to a minute', async () => {
    answer('GET', { path: '/' });
    const buckets = (await lines('http_request_duration_seconds')).flatMap(
      (line) => /le="([^"]+)"/.exec(line)?.[1] ?? [],
    );
    expect(buckets).toEqual(['0.005', '0.02', '0.05', '0.1', '0.25', '0.5', '1', '2.5', '10', '60', '+Inf']);
  });

  it('shows the connections to Postgres', async () => {
    const said = (await registry.metrics()).split('\n').filter((line) => line.startsWith('database'));
    expect(said).toEqual([
      'database_connections 7',
      'database_connections_in_use 5',
      'database_connections_max 20',
      'database_connection_waiters 1',
    ]);
  });

  it('shows the failures of extensions, and what Node measures', async () => {
    expect(await lines('extension_listener_failures')).toEqual(['extension_listener_failures 3']);
    expect(await registry.metrics()).toContain('nodejs_eventloop_lag_seconds');
  });
});

describe('a gauge with labels', () => {
  it('shows what was read, and forgets what was read before', async () => {
    const registry = new Registry();
    let rows: LabelledValue[] | null = [
      { labels: { plan: 'free' }, value: 3 },
      { labels: { plan: 'pro' }, value: 0 },
    ];
    addLabelledGauge(registry, { name: 'g', help: 'h', labelNames: ['plan'] }, async () => rows);
    const said = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('g'));
    expect(await said()).toEqual(['g{plan="free"} 3', 'g{plan="pro"} 0']);
    rows = [{ labels: { plan: 'pro' }, value: 1 }];
    expect(await said()).toEqual(['g{plan="pro"} 1']);
    rows = null;
    expect(await said()).toEqual([]);
  });
});

describe('the counter of repairs', () => {
  it('is one for each registry, with a zero for each kind', async () => {
    const registry = new Registry();
    repairsOf(registry).inc({ kind: 'object_abandoned' }, 2);
    expect(repairsOf(registry)).toBe(repairsOf(registry));
    const said = (await registry.metrics()).split('\n').filter((line) => line.startsWith('repairs'));
    expect(said).toContain('repairs_total{kind="object_abandoned"} 2');
    expect(said.filter((line) => line.endsWith(' 0'))).toHaveLength(said.length - 1);
    expect(repairsOf(new Registry())).not.toBe(repairsOf(registry));
  });
});

describe('the metrics of connections', () => {
  it('are what the limiter counts now, with a zero for each limit that was never hit', async () => {
    const registry = new Registry();
    const hits = new Map([[CONNECTION_LIMITS[0], 2]]);
    const limiter = { open: 4, hits };
    addConnectionMetrics(registry, limiter as unknown as ConnectionLimiter);
    const said = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('http_'));
    const others = CONNECTION_LIMITS.slice(1).map((limit) => `http_connection_limit_hits_total{limit="${limit}"} 0`);
    const first = (count: number) => `http_connection_limit_hits_total{limit="${CONNECTION_LIMITS[0]}"} ${count}`;
    expect(await said()).toEqual(['http_connections 4', first(2), ...others]);
    limiter.open = 0;
    hits.set(CONNECTION_LIMITS[0], 5);
    expect(await said()).toEqual(['http_connections 0', first(5), ...others]);
  });
});
