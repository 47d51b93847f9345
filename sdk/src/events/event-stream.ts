import type { ApiRequest, Transport } from '../http/transport.js';
import { Deadline } from '../http/deadline.js';
import { ApiError } from '../http/errors.js';
import { delayBefore, isRetryable, sleep } from '../http/retry.js';
import type { AccountEvent } from './event-types.js';
import { type ServerSentEvent, SseParser } from './sse-parser.js';

/** Where to begin, and what to be told of the connection. */
export interface StreamOptions {
  /** Ends the stream. The loop over it ends too, without an error. */
  signal?: AbortSignal | undefined;
  /**
   * Only events after this `sequence`; `latest`, the default, for those that are yet to come; 0 for all that the service
   * keeps.
   */
  after?: 'latest' | (string & {}) | number | undefined;
  /** Milliseconds without a sign of the service after which the connection is taken for lost; 60,000 by default. */
  idleTimeout?: number | undefined;
  /** Told when the stream is connected, and when it was lost and is connected again. */
  onState?: ((state: StreamState) => void) | undefined;
}

/** `open`: connected. `waiting`: lost; `error` says why, and it is connected again in a moment. */
export type StreamState = { state: 'open' } | { state: 'waiting'; error: unknown };

/** The service sends a comment every 15 s. */
const IDLE_TIMEOUT_MS = 60_000;

/**
 * The events of the account as they happen. A lost connection is made again, with the id of the last event, so that none is
 * missing and none comes twice. It ends with an error when the service refuses, or cannot be reached in the first place.
 */
export class EventStream {
  private position: string | null = null;
  private wasOpen = false;
  private failures = 0;
  private retryMs: number | null = null;

  constructor(
    private readonly transport: Transport,
    private readonly options: StreamOptions,
  ) {}

  async *events(): AsyncGenerator<AccountEvent, void, undefined> {
    while (!this.isEnded) {
      let error: unknown = null;
      try {
        yield* this.connection();
      } catch (caught) {
        error = caught;
      }
      if (!this.isEnded) await this.pauseAfter(error);
    }
  }

  /** The events of one connection, until it ends. */
  private async *connection(): AsyncGenerator<AccountEvent, void, undefined> {
    const { signal, idleTimeout = IDLE_TIMEOUT_MS } = this.options;
    const deadline = new Deadline(signal, idleTimeout);
    try {
      const response = await this.transport.respond(this.request(), {}, deadline.signal);
      this.opened();
      const parser = new SseParser();
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      for (;;) {
        deadline.restart();
        const { done, value } = await this.transport.reached(reader.read(), deadline.signal);
        if (done) return;
        const messages = parser.push(value);
        this.retryMs = parser.retryMs ?? this.retryMs;
        // The time that the caller takes for an event is not the service's.
        deadline.pause();
        for (const message of messages) if (!this.isEnded) yield* this.take(message);
      }
    } finally {
      deadline.end();
      deadline.abort();
    }
  }

  private *take({ id, event, data }: ServerSentEvent): Generator<AccountEvent, void, undefined> {
    if (id !== '') this.position = id;
    this.failures = 0;
    if (data !== null) yield { event, sequence: Number(id), body: JSON.parse(data) as unknown } as AccountEvent;
  }

  private request(): ApiRequest {
    const { after = 'latest' } = this.options;
    const headers = { Accept: 'text/event-stream' };
    return this.position === null
      ? { method: 'GET', path: '/events/stream', query: { after }, headers }
      : { method: 'GET', path: '/events/stream', headers: { ...headers, 'Last-Event-ID': this.position } };
  }

  private opened(): void {
    this.wasOpen = true;
    this.options.onState?.({ state: 'open' });
  }

  private get isEnded(): boolean {
    return this.options.signal?.aborted ?? false;
  }

  /** Waits before the next connection. @throws what no wait helps with */
  private async pauseAfter(error: unknown): Promise<void> {
    this.failures += 1;
    const isHopeless = error !== null && !isRetryable(error, true);
    if (isHopeless || (!this.wasOpen && this.failures > this.transport.maxRetries)) throw error;
    this.options.onState?.({ state: 'waiting', error });
    const asked = error instanceof ApiError ? null : this.retryMs;
    const delay = this.failures === 1 && asked !== null ? asked : delayBefore(error, this.failures);
    try {
      await sleep(delay, this.options.signal);
    } catch {
      // The signal ends the stream.
    }
  }
}
