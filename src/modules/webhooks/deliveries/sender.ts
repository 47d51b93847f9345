import { Inject, Injectable, type OnApplicationShutdown, Optional } from '@nestjs/common';
import { type buildConnector, Client, type Dispatcher, errors } from 'undici';
import { Env } from '../../../platform/config/env.js';
import { Attempt, AttemptFailed } from './attempt.js';
import { checkedConnector } from './checked-connector.js';
import { resolveHost } from './host-resolver.js';
import { AllowedNetworks, checkWebhookUrl } from './safe-address.js';

export interface OutgoingDelivery {
  url: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Ends the attempt early, with an error in its outcome. */
  signal?: AbortSignal;
}

/** What came of one attempt; any `status` from 200 to 299 is a success. */
export interface DeliveryOutcome {
  /** Null when no answer arrived; then `error` says why, in words for the webhook's owner. */
  status: number | null;
  error: string | null;
  /** The answer's `Retry-After` where it is one to heed: on 429 and 503 (RFC 6585 §4, RFC 9110 §15.6.4). */
  retryAfter: string | null;
  /** From the start of the attempt to the answer's headers or the error. */
  durationMs: number;
}

export interface SenderOptions {
  resolve: (name: string) => Promise<string[]>;
  /** For look-up, connection and TLS handshake together. */
  connectMs: number;
  /** From the start of the attempt to the last of the answer's headers. */
  headersMs: number;
}

export const SENDER_OPTIONS = Symbol('SENDER_OPTIONS');

const USER_AGENT = 'VoiceNoteTranscription-Webhooks/1';
const DEFAULTS: SenderOptions = { resolve: resolveHost, connectMs: 5000, headersMs: 15_000 };
const MAX_HEADER_BYTES = 16_384;
/** The body of an answer is of no interest; a little of it is read so that an ordinary receiver sees no reset. */
const MAX_BODY_BYTES = 4096;
const MAX_BODY_MS = 1000;

/**
 * Sends one delivery to an address that a customer chose and nobody should trust. The URL is checked before every
 * attempt and each address it leads to before the connection is made; redirects are answers like any other, and
 * proxies of the environment are ignored. Each attempt has a connection of its own: its time and memory end with it,
 * and no reused connection breaks under a POST.
 */
@Injectable()
export class WebhookSender implements OnApplicationShutdown {
  private readonly options: SenderOptions;
  private readonly allowed: AllowedNetworks;
  private readonly underWay = new Set<Attempt>();

  constructor(env: Env, @Optional() @Inject(SENDER_OPTIONS) options?: Partial<SenderOptions>) {
    this.options = { ...DEFAULTS, ...options };
    this.allowed = new AllowedNetworks(env.webhookAllowedCidrs);
  }

  /** Never throws: whatever goes wrong is the outcome's `error`. */
  async send(delivery: OutgoingDelivery): Promise<DeliveryOutcome> {
    const started = performance.now();
    const durationMs = () => Math.round(performance.now() - started);
    const refusal = checkWebhookUrl(delivery.url, this.allowed);
    if (refusal !== null) return { ...failure(`the URL ${refusal}`), durationMs: durationMs() };

    const attempt = new Attempt(this.options, delivery.signal);
    this.underWay.add(attempt);
    const client = this.clientFor(delivery.url, attempt);
    try {
      const answer = await post(client, delivery, attempt.signal);
      attempt.settle();
      const outcome = { ...answered(answer), durationMs: durationMs() };
      await discard(answer.body);
      return outcome;
    } catch (error) {
      return { ...failure(describe(attempt.signal.aborted ? attempt.signal.reason : error)), durationMs: durationMs() };
    } finally {
      attempt.settle();
      this.underWay.delete(attempt);
      await client.destroy();
    }
  }

  /** The last hook of a stop: whoever wants its deliveries to end well has waited for them by now. */
  onApplicationShutdown(): void {
    for (const attempt of this.underWay) attempt.fail('the service was stopped');
  }

  private clientFor(url: string, attempt: Attempt): Client {
    const { signal } = attempt;
    const connect = checkedConnector({ allowed: this.allowed, resolve: this.options.resolve, signal });
    return new Client(new URL(url).origin, {
      connect: (options, callback) =>
        connect(options, (...result: Parameters<buildConnector.Callback>) => {
          attempt.connected();
          callback(...result);
        }),
      // The connection is not kept, and the attempt's clocks cover every phase, undici's own only some.
      pipelining: 0,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
  }
}

async function post(client: Client, delivery: OutgoingDelivery, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
  const { pathname, search } = new URL(delivery.url);
  const headers = { ...delivery.headers, 'User-Agent': USER_AGENT };
  return client.request({ method: 'POST', path: pathname + search, headers, body: delivery.body, signal });
}

/** What becomes of the body changes nothing any more: the attempt was decided by its status. */
async function discard(body: Dispatcher.ResponseData['body']): Promise<void> {
  await body.dump({ limit: MAX_BODY_BYTES, signal: AbortSignal.timeout(MAX_BODY_MS) }).catch(() => undefined);
}

function answered({ statusCode, headers }: Dispatcher.ResponseData): Omit<DeliveryOutcome, 'durationMs'> {
  const retryAfter = statusCode === 429 || statusCode === 503 ? [headers['retry-after']].flat()[0] : null;
  return { status: statusCode, error: null, retryAfter: retryAfter ?? null };
}

function failure(error: string): Omit<DeliveryOutcome, 'durationMs'> {
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

/** Never an error's own message, which would tell a customer about addresses inside the operator's network. */
function describe(error: unknown): string {
  if (error instanceof AttemptFailed) return error.message;
  if (error instanceof errors.HTTPParserError) return 'the answer is not valid HTTP';
  const code = (error as NodeJS.ErrnoException | null)?.code ?? 'unknown error';
  return REASONS[code] ?? `the connection failed (${code})`;
}
