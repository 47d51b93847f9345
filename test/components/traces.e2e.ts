import { SpanKind } from '@opentelemetry/api';
import { v7 as uuidv7 } from 'uuid';
import { readEnv } from '../../src/platform/config/env.js';
import { recordStatement } from '../../src/platform/observability/traces/library-spans.js';
import { OpenTelemetryTraces } from '../../src/platform/observability/traces/open-telemetry.js';
import { OtlpReceiver } from '../support/servers/otlp-receiver.js';

describe('traces of a process', () => {
  let collector: OtlpReceiver;

  beforeEach(async () => {
    collector = await OtlpReceiver.listen();
  });
  afterEach(async () => {
    await collector.close();
    delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  });

  function start(variables: Record<string, string> = {}): OpenTelemetryTraces {
    // The exporter reads it itself.
    process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url;
    const servers = { DATABASE_URL: 'postgres://unused', REDIS_URL: 'redis://unused' };
    return new OpenTelemetryTraces(readEnv({ ...servers, NODE_ENV: 'test', SECRET_KEY: 'k'.repeat(32), ...variables }));
  }

  const workOf = (id: string) => ({ id, run: 1, step: 'work' });
  const nothing = async (): Promise<void> => undefined;
  const WHOLE = { attributes: {}, begins: true };

  it('keeps or drops a trace as a whole, in every process', async () => {
    const share = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' };
    const [producer, consumer] = [start(share), start(share)];
    const ids = Array.from({ length: 200 }, () => uuidv7());
    for (const id of ids) {
      await producer.produce(workOf(id), 'produce', WHOLE, nothing);
      await consumer.consume(workOf(id), 'consume', {}, nothing);
    }
    await Promise.all([producer.stop(), consumer.stop()]);
    const kept = ids.map((id) => collector.ofTrace(id.replaceAll('-', '')).map(({ name }) => name));
    expect(new Set(kept.map((names) => names.toSorted().join(' ')))).toEqual(new Set(['', 'accepted consume produce']));
    const part = kept.filter((names) => names.length > 0).length / ids.length;
    expect(part).toBeGreaterThan(0.3);
    expect(part).toBeLessThan(0.7);
  });

  it.each([
    ['always_off', 0],
    ['parentbased_always_off', 0],
    ['traceidratio', 3],
  ])('samples as %s says', async (name, count) => {
    const traces = start({ OTEL_TRACES_SAMPLER: name });
    await traces.produce(workOf(uuidv7()), 'produce', WHOLE, () => traces.span('inner', {}, nothing));
    await traces.stop();
    expect(collector.spans).toHaveLength(count);
  });

  it('drops spans above the limit of the queue instead of keeping them in memory', async () => {
    const traces = start({ OTEL_BSP_MAX_QUEUE_SIZE: '100', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10' });
    const started = Array.from({ length: 5000 }, () => traces.consume(workOf(uuidv7()), 'consume', {}, nothing));
    await Promise.all(started);
    await traces.stop();
    expect(collector.spans.length).toBeGreaterThan(0);
    expect(collector.spans.length).toBeLessThanOrEqual(110);
  });

  it('leaves out what belongs to no trace, and what outlasts its span', async () => {
    const traces = start();
    await traces.span('outside', {}, nothing);
    let late: Promise<void> = Promise.resolve();
    await traces.consume(workOf(uuidv7()), 'consume', {}, async () => {
      const later = new Promise((resolve) => setImmediate(resolve));
      late = later.then(() => traces.span('late', {}, nothing));
      await traces.outside(() => traces.span('of another loop', {}, nothing));
    });
    await late;
    await traces.stop();
    expect(collector.spans.map(({ name }) => name)).toEqual(['consume']);
  });

  it('keeps of an error its class or its code alone', async () => {
    const traces = start();
    const failing = (error: Error) =>
      traces.consume(workOf(uuidv7()), 'consume', {}, () => Promise.reject(error)).catch(() => undefined);
    await failing(new RangeError('what somebody said'));
    await failing(Object.assign(new Error('connect to hooks.example'), { code: 'ECONNREFUSED' }));
    await failing(Object.assign(new Error('x'), { code: 'a text of somebody' }));
    await traces.stop();
    expect(collector.spans.map(({ isFailed, attributes }) => [isFailed, attributes['error.type']])).toEqual([
      [true, 'RangeError'],
      [true, 'ECONNREFUSED'],
      [true, 'Error'],
    ]);
    expect(collector.spans.filter(({ statusMessage, events }) => statusMessage !== '' || events > 0)).toEqual([]);
  });
});

describe('the name of a statement', () => {
  it.each([
    ['SELECT * FROM recordings r JOIN accounts a ON true', 'SELECT recordings'],
    ['  select 1', 'SELECT'],
    ['COMMIT', 'COMMIT'],
    ['INSERT INTO "events" ("id") VALUES ($1)', 'INSERT events'],
    ['UPDATE recordings SET a = 1 WHERE id IN (SELECT id FROM due)', 'UPDATE recordings'],
    ['WITH due AS (SELECT id FROM d FOR UPDATE OF d SKIP LOCKED) UPDATE deliveries SET a = 1', 'UPDATE deliveries'],
    ['INSERT INTO shares AS s (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2', 'INSERT shares'],
    ['WITH gone AS (DELETE FROM o WHERE k = $1 RETURNING k) INSERT INTO r SELECT $2', 'DELETE o, INSERT r'],
  ])('of %s is %s', (text, expected) => {
    const names: [string, SpanKind][] = [];
    const query = (): string => 'rows';
    const recorded = recordStatement([text], query, (name, kind) => {
      names.push([name, kind]);
      return null;
    });
    expect([recorded, names]).toEqual(['rows', [[expected, SpanKind.CLIENT]]]);
  });
});
