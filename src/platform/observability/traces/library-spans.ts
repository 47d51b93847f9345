import { channel, tracingChannel } from 'node:diagnostics_channel';
import { type Span, SpanKind } from '@opentelemetry/api';
import { endFailed } from './span-ends.js';
import type { SpanAttributes } from './traces.js';

/** @returns null where nothing is recorded. */
export type MakeSpan = (name: string, kind: SpanKind, attributes: SpanAttributes) => Span | null;

/**
 * Records the commands of ioredis and the requests of undici, by the diagnostics channels that both publish to, also from
 * within a bundle. Neither arguments nor addresses are recorded: they hold names, secrets, and the URLs of customers.
 * @returns what ends that.
 */
export function recordLibraries(makeSpan: MakeSpan): () => void {
  const [endRedis, endHttp] = [recordRedis(makeSpan), recordHttp(makeSpan)];
  return () => {
    endRedis();
    endHttp();
  };
}

type Message = { command?: unknown; error?: unknown };

function recordRedis(makeSpan: MakeSpan): () => void {
  const spans = new WeakMap<object, Span>();
  const take = (message: object): Span | undefined => {
    const span = spans.get(message);
    spans.delete(message);
    return span;
  };
  const commands = tracingChannel<object>('ioredis:command');
  const subscribers = {
    start: (message: object) => {
      const name = String((message as Message).command).toUpperCase();
      const attributes = { 'db.system.name': 'redis', 'db.operation.name': name };
      const span = makeSpan(name, SpanKind.CLIENT, attributes);
      if (span) spans.set(message, span);
    },
    end: () => undefined,
    asyncStart: () => undefined,
    asyncEnd: (message: object) => take(message)?.end(),
    error: (message: object) => {
      const span = take(message);
      if (span) endFailed(span, (message as Message).error);
    },
  };
  commands.subscribe(subscribers);
  return () => commands.unsubscribe(subscribers);
}

interface HttpMessage {
  request: { method?: unknown };
  response?: { statusCode?: number };
  error?: unknown;
}

function recordHttp(makeSpan: MakeSpan): () => void {
  const spans = new WeakMap<object, { span: Span; isAnswered: boolean }>();
  const subscribers: Record<string, (message: HttpMessage) => void> = {
    create: ({ request }) => {
      const method = String(request.method);
      const span = makeSpan(method, SpanKind.CLIENT, { 'http.request.method': method });
      if (span) spans.set(request, { span, isAnswered: false });
    },
    headers: ({ request, response }) => {
      const found = spans.get(request);
      if (!found || response?.statusCode === undefined) return;
      found.span.setAttribute('http.response.status_code', response.statusCode);
      found.isAnswered = true;
    },
    trailers: ({ request }) => spans.get(request)?.span.end(),
    // After the head of the answer: its reader has seen enough.
    error: ({ request, error }) => {
      const found = spans.get(request);
      if (found?.isAnswered) found.span.end();
      else if (found) endFailed(found.span, error);
    },
  };
  const all = Object.entries(subscribers).map(
    ([name, subscriber]) => [channel(`undici:request:${name}`), subscriber as (message: unknown) => void] as const,
  );
  for (const [each, subscriber] of all) each.subscribe(subscriber);
  return () => {
    for (const [each, subscriber] of all) each.unsubscribe(subscriber);
  };
}

type Callback = (error: unknown, ...results: unknown[]) => void;

/**
 * Runs a statement of `pg`. Its text is not recorded, as a statement of an extension may hold values; what it does to
 * which tables is.
 */
export function recordStatement(
  parameters: unknown[],
  query: (...parameters: unknown[]) => unknown,
  makeSpan: MakeSpan,
): unknown {
  const [statement] = parameters;
  const text = typeof statement === 'string' ? statement : (statement as { text?: unknown } | null)?.text;
  const span = typeof text === 'string' ? startStatement(text, makeSpan) : null;
  if (!span) return query(...parameters);
  const callback = parameters.at(-1);
  if (typeof callback === 'function') {
    const ended: Callback = (error, ...results) => {
      if (error) endFailed(span, error);
      else span.end();
      (callback as Callback)(error, ...results);
    };
    return query(...parameters.slice(0, -1), ended);
  }
  const answer = query(...parameters) as Promise<unknown>;
  answer.then(
    () => span.end(),
    (error: unknown) => endFailed(span, error),
  );
  return answer;
}

/** Of the longest statements that is enough to tell what they do. */
const LOOKED_AT = 4000;
const OPERATION = /^\s*(\w+)/;
const READ = /\bfrom\s+"?([a-z_]+)/i;
/** Not the locks of `FOR UPDATE OF` and `SKIP LOCKED`, nor `DO UPDATE SET`. */
const WRITES = /\b(insert|update|delete)\s+(?:into\s+|from\s+)?"?(?!of\b|set\b|skip\b|nowait\b)([a-z_]+)/gi;

function startStatement(text: string, makeSpan: MakeSpan): Span | null {
  const start = text.slice(0, LOOKED_AT);
  const operation = (OPERATION.exec(start)?.[1] ?? '').toUpperCase();
  const writes = Array.from(start.matchAll(WRITES), ([, verb = '', table]) => `${verb.toUpperCase()} ${table}`);
  const read = [operation, READ.exec(start)?.[1]].filter(Boolean).join(' ');
  const summary = writes.length > 0 ? [...new Set(writes)].join(', ') : read;
  const attributes = { 'db.system.name': 'postgresql', 'db.operation.name': operation, 'db.query.summary': summary };
  return makeSpan(summary, SpanKind.CLIENT, attributes);
}
