import type { IncomingMessage, ServerResponse } from 'node:http';
import type { QueuedWork } from './work-ids.js';

/** What spans say: ids, numbers, and names that the service itself chose. Never what a client or an engine has sent. */
export type SpanAttributes = Record<string, string | number | boolean | null | undefined>;

/** For log lines; empty outside of a trace. */
export interface TraceFields {
  trace_id?: string;
  span_id?: string;
}

/** What a request turned out to be. */
export interface RequestSpan {
  name: string;
  attributes: SpanAttributes;
  failed: boolean;
}

/** Records what belongs to one trace. All of it only runs the work while traces are off. */
export interface Traces {
  readonly isOn: boolean;
  /** Runs `work` as a part of the present trace. */
  span<T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T>;
  /** As `span`, for the time that the items take. */
  iterate<T>(name: string, items: AsyncGenerator<T>): AsyncGenerator<T>;
  /** Adds to the present span. */
  annotate(attributes: SpanAttributes): void;
  /** Marks the present span as failed. Nothing of the error is recorded but its class. */
  fail(error: unknown): void;
  /**
   * Runs what queues `work`, in the trace of its row.
   * @param options.begins nothing of this trace is there yet, unless the present request is a part of it.
   */
  produce<T>(
    work: QueuedWork,
    name: string,
    options: { attributes: SpanAttributes; begins?: boolean },
    task: () => Promise<T>,
  ): Promise<T>;
  /** Does the work, in the trace of its row, with a link to the span that queued it. */
  consume<T>(work: QueuedWork, name: string, attributes: SpanAttributes, task: () => Promise<T>): Promise<T>;
  /** Runs what belongs to no trace, such as a loop that the end of some work has started. */
  outside<T>(task: () => T): T;
  /** @returns a function that runs a task in the present trace, from wherever it is called. */
  bind(): <T>(task: () => T) => T;
  /** A new version 7 UUID: the one of the present trace, where nothing has it yet. Undefined while there is none. */
  takeId(): string | undefined;
  /** Lets a statement know its trace before the pool gives it a connection. */
  bindStatement<T extends object>(statement: T): T;
  /** Runs a statement of `pg`, which tells its end by a promise, or by a callback in last place. */
  statement(parameters: unknown[], query: (...parameters: unknown[]) => unknown): unknown;
  /**
   * Runs `next` in the trace of a request.
   * @param describe called once the response has ended
   */
  request(request: IncomingMessage, response: ServerResponse, describe: () => RequestSpan, next: () => void): void;
  fields(request?: IncomingMessage): TraceFields;
  /** Sends what is left, for a limited time. */
  stop(): Promise<void>;
}

const NONE: TraceFields = {};
const OFF: Traces = {
  isOn: false,
  span: (_name, _attributes, work) => work(),
  iterate: (_name, items) => items,
  annotate: () => undefined,
  fail: () => undefined,
  produce: (_work, _name, _options, task) => task(),
  consume: (_work, _name, _attributes, task) => task(),
  outside: (task) => task(),
  bind: () => (task) => task(),
  takeId: () => undefined,
  bindStatement: (statement) => statement,
  statement: (parameters, query) => query(...parameters),
  request: (_request, _response, _describe, next) => next(),
  fields: () => NONE,
  stop: async () => undefined,
};

/** The traces of this process, which are off until others are set. */
export let traces: Traces = OFF;

export function setTraces(started: Traces): void {
  traces = started;
}
