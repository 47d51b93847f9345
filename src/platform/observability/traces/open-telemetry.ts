import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import {
  diag,
  DiagLogLevel,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { parseKeyPairsIntoRecord, parseTraceParent, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  type IdGenerator,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { v7 as uuidv7 } from 'uuid';
import type { Env } from '../../config/env.js';
import { type MakeSpan, recordLibraries, recordStatement } from './library-spans.js';
import { endFailed, known } from './span-ends.js';
import type { RequestSpan, SpanAttributes, TraceFields, Traces } from './traces.js';
import { type QueuedWork, ROOT_STEP, spanIdOf, traceIdOf, uuidOf } from './work-ids.js';

/** The stop of a process waits for the collector no longer than this. */
const FLUSH_MS = 2000;
/** A collector that cannot be reached is told of this often. */
const COMPLAINT_MS = 60_000;

/** The span that a statement or a request belongs to. */
const SPAN = Symbol('span');
type Bound = { [SPAN]?: Span };

/**
 * Traces by OpenTelemetry's SDK. The spans of libraries are made in `library-spans.ts`: the usual packages wrap what
 * `require` loads, and see nothing of ES modules and of bundles.
 */
export class OpenTelemetryTraces implements Traces {
  readonly isOn = true;
  private readonly active = new AsyncLocalStorage<Span | undefined>();
  private readonly ids = new PresetIds();
  private readonly provider: TracerProvider;
  private readonly tracer: Tracer;
  /** Decides by the trace id, so that all processes with the same settings decide the same. */
  private readonly rootSampler: Sampler;
  /** Spans of requests whose trace is of no row yet. */
  private readonly untaken = new WeakSet<Span>();
  private readonly forgetLibraries: () => void;

  constructor(private readonly env: Env) {
    reportProblems();
    const { root, sampler } = samplersOf(env);
    this.rootSampler = root;
    this.provider = new TracerProvider({
      resource: resourceOf(env),
      sampler,
      idGenerator: this.ids,
      spanProcessors: [processorOf(env)],
    });
    this.tracer = this.provider.getTracer('voice-notes');
    this.forgetLibraries = recordLibraries(this.child);
  }

  async span<T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T> {
    const span = this.child(name, SpanKind.INTERNAL, attributes);
    return span ? await this.run(span, work) : await work();
  }

  iterate<T>(name: string, items: AsyncGenerator<T>): AsyncGenerator<T> {
    const span = this.child(name, SpanKind.INTERNAL, {});
    return span ? endingWith(items, span) : items;
  }

  annotate(attributes: SpanAttributes): void {
    this.active.getStore()?.setAttributes(known(attributes));
  }

  fail(error: unknown): void {
    const span = this.active.getStore();
    if (span) endFailed(span, error, { keepOpen: true });
  }

  async produce<T>(
    work: QueuedWork,
    name: string,
    { attributes, begins = false }: { attributes: SpanAttributes; begins?: boolean },
    task: () => Promise<T>,
  ): Promise<T> {
    const traceId = traceIdOf(work);
    const cause = this.active.getStore();
    const isWithin = cause?.spanContext().traceId === traceId;
    const links = !cause || isWithin ? [] : [{ context: cause.spanContext() }];
    if (!isWithin) cause?.addLink({ context: this.remote(traceId, work.step) });
    if (!isWithin && begins) this.startRoot('accepted', { attributes: known(attributes), links }, traceId).end();
    const parent = isWithin ? cause : trace.wrapSpanContext(this.remote(traceId, ROOT_STEP));
    const options = { kind: SpanKind.PRODUCER, attributes: known(attributes), links };
    return await this.run(this.start(name, options, parent, spanIdOf(traceId, work.step)), task);
  }

  async consume<T>(work: QueuedWork, name: string, attributes: SpanAttributes, task: () => Promise<T>): Promise<T> {
    const producer = this.remote(traceIdOf(work), work.step);
    const links: Link[] = [{ context: producer }];
    const options = { kind: SpanKind.CONSUMER, attributes: known(attributes), links };
    return await this.run(this.start(name, options, trace.wrapSpanContext(producer)), task);
  }

  outside<T>(task: () => T): T {
    return this.active.run(undefined, task);
  }

  bind(): <T>(task: () => T) => T {
    const span = this.active.getStore();
    return (task) => this.active.run(span, task);
  }

  takeId(): string | undefined {
    const span = this.active.getStore();
    return span && this.untaken.delete(span) ? uuidOf(span.spanContext().traceId) : undefined;
  }

  bindStatement<T extends object>(statement: T): T {
    return Object.assign(statement, { [SPAN]: this.active.getStore() });
  }

  statement(parameters: unknown[], query: (...parameters: unknown[]) => unknown): unknown {
    const [statement] = parameters;
    const parent = typeof statement === 'object' && statement ? (statement as Bound)[SPAN] : undefined;
    return recordStatement(parameters, query, parent ? this.childOf(parent) : this.child);
  }

  request(request: IncomingMessage, response: ServerResponse, describe: () => RequestSpan, next: () => void): void {
    const traceId = uuidv7().replaceAll('-', '');
    // A client is not trusted with the ids or with the sampling of our traces.
    const sent = this.env.otelPropagators.includes('tracecontext') ? request.headers.traceparent : undefined;
    const theirs = typeof sent === 'string' ? parseTraceParent(sent) : null;
    const links = theirs ? [{ context: { ...theirs, isRemote: true } }] : [];
    const span = this.startRoot(request.method ?? '', { kind: SpanKind.SERVER, links }, traceId);
    this.untaken.add(span);
    Object.assign(request, { [SPAN]: span });
    response.on('close', () => {
      const { name, attributes, failed } = describe();
      span.updateName(name).setAttributes(known(attributes));
      if (failed) endFailed(span, null);
      else span.end();
    });
    this.active.run(span, next);
  }

  fields(request?: IncomingMessage): TraceFields {
    const span = request ? (request as Bound)[SPAN] : this.active.getStore();
    const context = span?.spanContext();
    return context ? { trace_id: context.traceId, span_id: context.spanId } : {};
  }

  async stop(): Promise<void> {
    this.forgetLibraries();
    const sent = this.provider.shutdown().catch(() => undefined);
    await Promise.race([sent, delay(FLUSH_MS, undefined, { ref: false })]);
  }

  /** Null outside of traces that are recorded: a poll of the queue is not told of. Nor is what outlasts its parent. */
  private readonly child: MakeSpan = (name, kind, attributes) => {
    const parent = this.active.getStore();
    return parent ? this.childOf(parent)(name, kind, attributes) : null;
  };

  private childOf(parent: Span): MakeSpan {
    return (name, kind, attributes) =>
      parent.isRecording() ? this.start(name, { kind, attributes: known(attributes) }, parent) : null;
  }

  private start(name: string, options: SpanOptions, parent: Span, spanId?: string): Span {
    return this.ids.preset({ spanId }, () => this.tracer.startSpan(name, options, trace.setSpan(ROOT_CONTEXT, parent)));
  }

  private startRoot(name: string, options: SpanOptions, traceId: string): Span {
    const spanId = spanIdOf(traceId, ROOT_STEP);
    return this.ids.preset({ traceId, spanId }, () => this.tracer.startSpan(name, options, ROOT_CONTEXT));
  }

  private async run<T>(span: Span, task: () => Promise<T>): Promise<T> {
    try {
      const result = await this.active.run(span, task);
      span.end();
      return result;
    } catch (error) {
      endFailed(span, error);
      throw error;
    }
  }

  /** A span that another process has made, or will make. */
  private remote(traceId: string, step: string): SpanContext {
    const { decision } = this.rootSampler.shouldSample(ROOT_CONTEXT, traceId, step, SpanKind.INTERNAL, {}, []);
    const isSampled = decision === SamplingDecision.RECORD_AND_SAMPLED;
    const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
    return { traceId, spanId: spanIdOf(traceId, step), traceFlags, isRemote: true };
  }
}

/** Random ids, but for spans that stand for a row. */
class PresetIds implements IdGenerator {
  private given: { traceId?: string | undefined; spanId?: string | undefined } = {};

  preset<T>(given: { traceId?: string; spanId?: string | undefined }, start: () => T): T {
    this.given = given;
    try {
      return start();
    } finally {
      this.given = {};
    }
  }

  generateTraceId = (): string => this.given.traceId ?? randomBytes(16).toString('hex');
  generateSpanId = (): string => this.given.spanId ?? randomBytes(8).toString('hex');
}

async function* endingWith<T>(items: AsyncGenerator<T>, span: Span): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    endFailed(span, error);
    throw error;
  } finally {
    span.end();
  }
}

function resourceOf({ otelServiceName, roles }: Env): Resource {
  const own = resourceFromAttributes({
    'service.name': otelServiceName,
    'service.instance.id': randomUUID(),
    'process.pid': process.pid,
    'voice_notes.roles': [...roles],
  });
  // OTEL_RESOURCE_ATTRIBUTES, which may say each of these.
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
}

function processorOf(env: Env): BatchSpanProcessor {
  // From a file, too, where the exporter does not look.
  const headers = parseKeyPairsIntoRecord(env.otelExporterOtlpHeaders ?? undefined);
  return new BatchSpanProcessor({
    exporter: new OTLPTraceExporter({ headers }),
    scheduledDelayMillis: env.otelBspScheduleDelay,
    exportTimeoutMillis: env.otelBspExportTimeout,
    maxQueueSize: env.otelBspMaxQueueSize,
    maxExportBatchSize: env.otelBspMaxExportBatchSize,
  });
}

function samplersOf({ otelTracesSampler: name, otelTracesSamplerArg: ratio }: Env): {
  root: Sampler;
  sampler: Sampler;
} {
  const roots: Record<string, () => Sampler> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratio),
  };
  const root = (roots[name.replace('parentbased_', '')] as () => Sampler)();
  return { root, sampler: name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root };
}

/** A collector that cannot be reached, and spans that were dropped, as warnings; not each time. */
function reportProblems(): void {
  const logger = new Logger('Traces');
  let nextAt = 0;
  const report = (problem: unknown): void => {
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + COMPLAINT_MS;
    logger.warn({ err: problem }, 'spans not sent to the collector');
  };
  setGlobalErrorHandler(report);
  const ignore = (): void => undefined;
  const problems = { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(problems, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
