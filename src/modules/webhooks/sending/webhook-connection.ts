import { setMaxListeners } from 'node:events';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import { checkedConnector, type CheckedConnectorOptions } from '../../../platform/http/outgoing/checked-connector.js';
import {
  MAX_HEADER_BYTES,
  type OutgoingErrorKind,
  OutgoingRequestError,
} from '../../../platform/http/outgoing/outgoing-error.js';

type Rules = Omit<CheckedConnectorOptions, 'signal'>;

/** An idle connection is kept this long, which covers deliveries in quick succession. */
export const IDLE_MS = 1000;
/** A connection is not reused after this time, so that the addresses of its host are checked again. */
const MAX_AGE_MS = 10_000;
/** Bounds the idle sockets. */
const MAX_IDLE = 200;

/** A connection to one origin, for one attempt at a time. Its address is checked when it connects. */
export class WebhookConnection {
  private readonly client: Client;
  private readonly createdAt = Date.now();
  private attempt: DeliveryAttempt | null = null;
  private isConnected = false;

  constructor(
    readonly origin: string,
    private readonly rules: Rules,
    idleMs = IDLE_MS,
  ) {
    this.client = new Client(origin, {
      connect: (options, callback) => this.connect(options, callback),
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: idleMs,
      // DeliveryAttempt limits every phase; undici's own timeouts cover only some.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    this.client.on('connect', () => (this.isConnected = true));
    this.client.on('disconnect', () => (this.isConnected = false));
  }

  /** Whether it is open and young enough for another attempt. */
  get isReusable(): boolean {
    return this.isConnected && !this.client.destroyed && Date.now() - this.createdAt < MAX_AGE_MS;
  }

  async post(
    attempt: DeliveryAttempt,
    options: Omit<Dispatcher.RequestOptions, 'method'>,
  ): Promise<Dispatcher.ResponseData> {
    this.attempt = attempt;
    return await this.client.request({ ...options, method: 'POST', signal: attempt.signal });
  }

  async destroy(): Promise<void> {
    await this.client.destroy();
  }

  private connect(options: buildConnector.Options, callback: buildConnector.Callback): void {
    const attempt = this.attempt as DeliveryAttempt;
    attempt.connecting();
    const connect = checkedConnector({ ...this.rules, signal: attempt.signal });
    connect(options, (...result: Parameters<buildConnector.Callback>) => {
      attempt.connected();
      callback(...result);
    });
  }
}

/**
 * Open connections for the next delivery to the same origin. Reuse raised deliveries from 1,950 to 3,450 a second
 * (docs/performance.md). Held by webhook-sender.e2e.ts.
 */
export class IdleConnections {
  private readonly idle = new Map<WebhookConnection, NodeJS.Timeout>();

  constructor(private readonly idleMs = IDLE_MS) {}

  take(origin: string): WebhookConnection | null {
    for (const connection of this.idle.keys()) {
      if (connection.origin !== origin) continue;
      this.remove(connection);
      if (connection.isReusable) return connection;
      void connection.destroy();
    }
    return null;
  }

  /** Keeps the connection for reuse, or closes it. */
  async give(connection: WebhookConnection): Promise<void> {
    if (!connection.isReusable || this.idle.size >= MAX_IDLE) return await connection.destroy();
    const close = (): void => {
      this.remove(connection);
      void connection.destroy();
    };
    this.idle.set(connection, setTimeout(close, this.idleMs).unref());
  }

  closeAll(): void {
    for (const connection of this.idle.keys()) {
      this.remove(connection);
      void connection.destroy();
    }
  }

  private remove(connection: WebhookConnection): void {
    clearTimeout(this.idle.get(connection));
    this.idle.delete(connection);
  }
}

interface Limits {
  connectMs: number;
  headersMs: number;
}

/** The time limits of one attempt, and its cancellation. */
export class DeliveryAttempt {
  private readonly controller = new AbortController();
  private readonly startedAt = performance.now();
  private settledAt: number | undefined;
  private connectTimer: NodeJS.Timeout | undefined;
  private readonly responseTimer: NodeJS.Timeout;

  constructor(
    private readonly limits: Limits,
    private readonly caller?: AbortSignal,
  ) {
    const { headersMs } = limits;
    this.responseTimer = setTimeout(() => this.fail('timeout', `no answer within ${headersMs / 1000} s`), headersMs);
    if (!caller) return;
    // Many attempts share one signal, which Node would report as a leak.
    setMaxListeners(0, caller);
    caller.addEventListener('abort', this.cancel);
    if (caller.aborted) this.cancel();
  }

  /** Aborted with a `OutgoingRequestError` as its reason. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  connecting(): void {
    const { connectMs } = this.limits;
    this.connectTimer = setTimeout(() => this.fail('timeout', `no connection within ${connectMs / 1000} s`), connectMs);
  }

  connected(): void {
    clearTimeout(this.connectTimer);
  }

  fail(kind: OutgoingErrorKind, reason: string): void {
    this.controller.abort(new OutgoingRequestError(kind, reason));
  }

  /** From the start until `settle`. */
  get durationMs(): number {
    return Math.round((this.settledAt ?? performance.now()) - this.startedAt);
  }

  /** Clears the timers and the signal: nothing ends the attempt from here on. */
  settle(): void {
    this.settledAt ??= performance.now();
    clearTimeout(this.connectTimer);
    clearTimeout(this.responseTimer);
    this.caller?.removeEventListener('abort', this.cancel);
  }

  private readonly cancel = () => this.fail('reset', 'the attempt was cancelled');
}
