import { Inject, Injectable, type OnApplicationShutdown, Optional } from '@nestjs/common';
import { type Dispatcher, errors } from 'undici';
import { Env } from '../../../platform/config/env.js';
import { DeliveryAttempt, DeliveryAttemptError } from './delivery-attempt.js';
import { WebhookConnection, IdleConnections, MAX_HEADER_BYTES } from './webhook-connection.js';
import { resolveHost } from './host-resolver.js';
import { AllowedNetworks, checkWebhookUrl } from './address-rules.js';

export interface OutgoingDelivery {
  url: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Cancels the attempt, with an error in its outcome. */
  signal?: AbortSignal;
}

/** The outcome of one attempt. A `status` from 200 to 299 is a success. */
export interface DeliveryOutcome {
  /** Null without a response; then `error` gives the reason to the webhook's owner. */
  status: number | null;
  error: string | null;
  /** `Retry-After` of a 429 or 503 response (RFC 6585 §4, RFC 9110 §15.6.4). */
  retryAfter: string | null;
  /** From the start of the attempt to the response headers or the error. */
  durationMs: number;
}

type Answer = Omit<DeliveryOutcome, 'durationMs'>;

export interface SenderOptions {
  resolve: (name: string) => Promise<string[]>;
  /** For DNS, connection and TLS handshake together. */
  connectMs: number;
  /** From the start of the attempt to the end of the response headers. */
  headersMs: number;
}

export const SENDER_OPTIONS = Symbol('SENDER_OPTIONS');

const USER_AGENT = 'VoiceNoteTranscription-Webhooks/1';
const DEFAULTS: SenderOptions = { resolve: resolveHost, connectMs: 5000, headersMs: 15_000 };
/** Response bodies are ignored. This much is read, so that an ordinary receiver sees no reset. */
const MAX_BODY_BYTES = 4096;
const MAX_BODY_MS = 1000;

/**
 * Sends one delivery to an untrusted URL. The URL is checked before every attempt, and each resolved address before
 * the connection is opened. Redirects are not followed, and proxies of the environment are ignored.
 */
@Injectable()
export class WebhookSenderService implements OnApplicationShutdown {
  private readonly options: SenderOptions;
  private readonly allowed: AllowedNetworks;
  private readonly inProgress = new Set<DeliveryAttempt>();
  private readonly idle = new IdleConnections();

  constructor(
    private readonly env: Env,
    @Optional() @Inject(SENDER_OPTIONS) options?: Partial<SenderOptions>,
  ) {
    this.options = { ...DEFAULTS, ...options };
    this.allowed = new AllowedNetworks(env.webhookAllowedCidrs);
  }

  /** Never throws: failures are reported in the outcome's `error`. */
  async send(delivery: OutgoingDelivery): Promise<DeliveryOutcome> {
    const refusal = checkWebhookUrl(delivery.url, this.allowed, { httpsOnly: this.env.webhookHttpsOnly });
    if (refusal !== null) return { ...failure(`the URL ${refusal}`), durationMs: 0 };

    const attempt = new DeliveryAttempt(this.options, delivery.signal);
    this.inProgress.add(attempt);
    try {
      const answer = await this.exchange(delivery, attempt);
      return { ...answer, durationMs: attempt.durationMs };
    } catch (error) {
      attempt.settle();
      const reason: unknown = attempt.signal.aborted ? attempt.signal.reason : error;
      return { ...failure(describe(reason)), durationMs: attempt.durationMs };
    } finally {
      this.inProgress.delete(attempt);
    }
  }

  /** The last hook of a shutdown: SendLoopsService has waited for its deliveries before. */
  onApplicationShutdown(): void {
    for (const attempt of this.inProgress) attempt.fail('the service was stopped');
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
    const rules = { allowed: this.allowed, resolve: this.options.resolve };
    return await this.post(delivery, attempt, new WebhookConnection(origin, rules));
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
      await discard(answer.body);
      // After a failure the next delivery opens a new, checked connection.
      await (isSuccess(answer.statusCode) ? this.idle.give(connection) : connection.destroy());
      return answered(answer);
    } catch (error) {
      await connection.destroy();
      throw error;
    }
  }
}

export const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** Errors are ignored: the status has decided the attempt. */
async function discard(body: Dispatcher.ResponseData['body']): Promise<void> {
  await body.dump({ limit: MAX_BODY_BYTES, signal: AbortSignal.timeout(MAX_BODY_MS) }).catch(() => undefined);
}

function answered({ statusCode, headers }: Dispatcher.ResponseData): Answer {
  const retryAfter = statusCode === 429 || statusCode === 503 ? [headers['retry-after']].flat()[0] : null;
  return { status: statusCode, error: null, retryAfter: retryAfter ?? null };
}

function failure(error: string): Answer {
  return { status: null, error, retryAfter: null };
}

const CLOSED = 'the connection was closed before an answer';
const REASONS: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  UND_ERR_SOCKET: CLOSED,
  UND_ERR_HEADERS_OVERFLOW: `the answer's headers are longer than ${MAX_HEADER_BYTES} bytes`,
  CERT_HAS_EXPIRED: 'the TLS certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the TLS certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the TLS certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the TLS certificate cannot be verified (an intermediate one may be missing)',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the TLS certificate is for another host name',
};

const isClosure = (error: unknown): boolean => REASONS[(error as NodeJS.ErrnoException).code ?? ''] === CLOSED;

/** Never the error's own message, which may contain addresses of the operator's network. */
function describe(error: unknown): string {
  if (error instanceof DeliveryAttemptError) return error.message;
  if (error instanceof errors.HTTPParserError) return 'the answer is not valid HTTP';
  const code = (error as NodeJS.ErrnoException | null)?.code ?? 'unknown error';
  return REASONS[code] ?? `the connection failed (${code})`;
}
