import { type Attributes, type Span, SpanStatusCode } from '@opentelemetry/api';
import type { SpanAttributes } from './traces.js';

/** Those that have a value. */
export function known(attributes: SpanAttributes): Attributes {
  const entries = Object.entries(attributes).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries) as Attributes;
}

/**
 * Ends a span as failed. Of the error only its class and its code are kept: its message may hold what a client or an engine
 * has sent.
 */
export function endFailed(span: Span, error: unknown, { keepOpen = false } = {}): void {
  span.setStatus({ code: SpanStatusCode.ERROR });
  if (error instanceof Error) {
    const { code } = error as { code?: unknown };
    span.setAttributes(
      known({ 'error.type': typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code) ? code : error.name }),
    );
  }
  if (!keepOpen) span.end();
}
