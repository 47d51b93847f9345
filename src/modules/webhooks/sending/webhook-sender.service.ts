import { Inject, Injectable, Logger, type OnApplicationShutdown, Optional } from '@nestjs/common';
import type { Dispatcher } from 'undici';
import { Env } from '../../../platform/config/env.js';
import { DeliveryAttempt, IDLE_MS, IdleConnections, WebhookConnection } from './webhook-connection.js';
import { type DeliveryErrorKind, readResponse } from './delivery-outcome.js';
import {
  describeError,
  isClosure,
  OutgoingRequestError,
  ProxyFailedError,
} from '../../../platform/http/outgoing/outgoing-error.js';
import { resolveHost } from '../../../platform/http/outgoing/checked-connector.js';
import { type ClientCertificate, clientCertificate, Egress } from '../../../platform/http/outgoing/egress.js';
import { AllowedNetworks, checkOutgoingUrl } from '../../../platform/http/outgoing/address-rules.js';

export interface OutgoingDelivery {
  url: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Cancels the attempt, with an error in its outcome. */
  signal?: AbortSignal;
}

/** The outcome of one attempt. A `status` from 200 to 299 is a success. */
export interface DeliveryOutcome {
  /** Null without a response; then `errorKind` and `error` give the reason to the webhook's owner. */
  status: number | null;
  errorKind: DeliveryErrorKind | null;
  error: string | null;
  /** The first 1 KiB of the response as text; null without one. */
  response: string | null;
  /** `Retry-After` of a 429 or 503 response (RFC 6585 §4, RFC 9110 §15.6.4). */
  retryAfter: string | null;
  /** From the start of the attempt to the response headers or the error. */
  durationMs: number;
  /** The way out failed, not the receiver: no attempt. */
  isOurs?: true;
}

type Answer = Omit<DeliveryOutcome, 'durationMs'>;

export interface SenderOptions {
  resolve: (name: string) => Promise<string[]>;
  /** A host name without a usable address fails after a multiple of this time. */
  nameErrorMs: number;
  /** For DNS, connection and TLS handshake together. */
  connectMs: number;
  /** From the start of the attempt to the end of the response headers. */
  headersMs: number;
  /** How long an open connection is kept for the next delivery to its origin. */
  idleMs: number;
}

export const SENDER_OPTIONS = Symbol('SENDER_OPTIONS');

const USER_AGENT = 'VoiceNoteTranscription-Webhooks/1';
const DEFAULTS: SenderOptions = {
  resolve: resolveHost,
  nameErrorMs: 1000,
  connectMs: 5000,
  headersMs: 15_000,
  idleMs: IDLE_MS,
};

/**
 * Sends one delivery to an untrusted URL. The URL is checked before every attempt, and each resolved address before
 * the connection is opened. Redirects are not followed. Of the proxies of the environment only EGRESS_PROXY_URL is used.
 */
@Injectable()
export class WebhookSenderService implements OnApplicationShutdown {
  private readonly logger = new Logger(WebhookSenderService.name);
  private readonly options: SenderOptions;
  private readonly allowed: AllowedNetworks;
  private readonly egress: Egress;
  private readonly certificate: ClientCertificate | null;
  private readonly inProgress = new Set<DeliveryAttempt>();
  private readonly idle: IdleConnections;

  constructor(
    private readonly env: Env,
    @Optional() @Inject(SENDER_OPTIONS) options?: Partial<SenderOptions>,
  ) {
    this.options = { ...DEFAULTS, ...options };
    this.idle = new IdleConnections(this.options.idleMs);
    this.allowed = new AllowedNetworks(env.webhookAllowedCidrs);
    this.egress = Egress.of(env);
    this.certificate = clientCertificate(env.webhookClientCert, env.webhookClientKey);
  }

  /** Never throws: failures are reported in the outcome's `error`. */
  async send(delivery: OutgoingDelivery): Promise<DeliveryOutcome> {
    const refusal = checkOutgoingUrl(delivery.url, this.allowed, { httpsOnly: this.env.webhookHttpsOnly });
    if (refusal !== null) {
      return { ...failure(new OutgoingRequestError('refused_address', `the URL ${refusal}`)), durationMs: 0 };
    }

    const attempt = new DeliveryAttempt(this.options, delivery.signal);
    this.inProgress.add(attempt);
    try {
      const answer = await this.exchange(delivery, attempt);
      return { ...answer, durationMs: attempt.durationMs };
    } catch (error) {
      attempt.settle();
      const cause: unknown = attempt.signal.aborted ? attempt.signal.reason : error;
      const reason = delivery.signal?.aborted ? cause : await this.egress.judge(delivery.url, cause);
      this.logCause(delivery.url, reason);
      return { ...failure(reason), durationMs: attempt.durationMs };
    } finally {
      this.inProgress.delete(attempt);
    }
  }

  /** The last hook of a shutdown: SendLoopsService has waited for its deliveries before. */
  onApplicationShutdown(): void {
    for (const attempt of this.inProgress) attempt.fail('reset', 'the service was stopped');
    this.idle.closeAll();
  }

  /** Reuses an open connection, if there is one. */
  private async exchange(delivery: OutgoingDelivery, attempt: DeliveryAttempt): Promise<Answer> {
    const { origin } = new URL(delivery.url);
    const kept = this.idle.take(origin);
    try {
      if (kept) return await this.post(delivery, attempt, kept);
    } catch (error) {
      // The receiver may close an idle connection at any time; that is no failed attempt.
      if (!isClosure(error) || attempt.signal.aborted) throw error;
    }
    const { resolve, nameErrorMs, idleMs } = this.options;
    const { allowed, egress, certificate } = this;
    const rules = { allowed, resolve, nameErrorMs, egress, certificate };
    return await this.post(delivery, attempt, new WebhookConnection(origin, rules, idleMs));
  }

  /** What the owner of the webhook is not told. */
  private logCause(url: string, error: unknown): void {
    if (!(error instanceof OutgoingRequestError) || error.cause === undefined) return;
    this.logger.log({ host: new URL(url).hostname, cause: error.cause }, 'webhook host has no usable address');
  }

  private async post(
    { url, headers, body }: OutgoingDelivery,
    attempt: DeliveryAttempt,
    connection: WebhookConnection,
  ): Promise<Answer> {
    try {
      const { pathname, search } = new URL(url);
      const sent = { ...headers, 'User-Agent': USER_AGENT };
      const answer = await connection.post(attempt, { path: pathname + search, headers: sent, body });
      attempt.settle();
      const response = await readResponse(answer.body);
      const outcome = answered(answer, response);
      // After a failure the next delivery opens a new, checked connection.
      await (isSuccess(outcome) ? this.idle.give(connection) : connection.destroy());
      return outcome;
    } catch (error) {
      await connection.destroy();
      throw error;
    }
  }
}

/** Whether the receiver accepted it. */
export const isSuccess = ({ status }: Pick<DeliveryOutcome, 'status'>): boolean =>
  status !== null && status >= 200 && status < 300;

function answered({ statusCode, headers }: Dispatcher.ResponseData, response: string): Answer {
  const retryAfter = statusCode === 429 || statusCode === 503 ? [headers['retry-after']].flat()[0] : null;
  return { status: statusCode, errorKind: null, error: null, response, retryAfter: retryAfter ?? null };
}

function failure(cause: unknown): Answer {
  const { kind, message } = describeError(cause);
  const isOurs = cause instanceof ProxyFailedError;
  return { status: null, errorKind: kind, error: message, response: null, retryAfter: null, ...(isOurs && { isOurs }) };
}
