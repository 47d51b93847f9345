import type { WebhookEventBody } from '../events/event-types.js';
import { bodySignature, isSame, standardSignature } from './signatures.js';
import { WebhookVerificationError } from './webhook-error.js';

/** The headers of a request as `fetch`, Node, or a framework gives them. Names in any case. */
export type WebhookHeaders = Headers | Iterable<[string, string]> | Record<string, string | string[] | undefined>;

/** How strictly a delivery is looked at. */
export interface VerifyOptions {
  /**
   * Seconds that a delivery may be old, or ahead of this machine's clock; 300 by default. With `Infinity` any age will do,
   * and `X-Service-Signature` alone, which does not tell the age, is accepted, too.
   */
  tolerance?: number;
}

/**
 * A verified event; `event` tells which. `id` is the same on every attempt: store it, to handle each event once.
 * An extension of the service may send further kinds.
 */
export type WebhookEvent = WebhookEventBody & { id: string };

const TOLERANCE_SECONDS = 300;
/** A header of 16 KB would hold hundreds. The service sends two at most. */
const MAX_SIGNATURES = 10;

/**
 * Verifies a delivery of the service and returns its event.
 *
 * ```js
 * const event = await verifyWebhook(await request.text(), request.headers, process.env.WEBHOOK_SECRET);
 * if (event.event === 'recording.transcribed') console.log(event.recording.id);
 * ```
 *
 * @param body as it arrived, before any JSON parser: the signature covers its bytes
 * @param secrets of the webhook; several while it is changed, or for several webhooks at one address
 * @throws WebhookVerificationError, whose `reason` says what is wrong
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { tolerance = TOLERANCE_SECONDS }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const bytes = bytesOf(body);
  const keys = secretsOf(secrets);
  const get = getterOf(headers);
  const id = await (get('webhook-signature') === undefined && tolerance === Infinity
    ? verifyBody(bytes, get, keys)
    : verifyStandard(bytes, get, keys, tolerance));
  return { ...eventOf(bytes), id };
}

type Get = (name: string) => string | undefined;
type Bytes = Uint8Array<ArrayBuffer>;

/** @returns the id of the event, which the signature covers */
async function verifyStandard(body: Bytes, get: Get, secrets: readonly string[], tolerance: number): Promise<string> {
  const signatures = get('webhook-signature');
  if (signatures === undefined) throw missing('webhook-signature');
  const id = get('webhook-id');
  if (id === undefined) throw missing('webhook-id');
  const timestamp = get('webhook-timestamp');
  if (timestamp === undefined) throw missing('webhook-timestamp');
  requireRecent(timestamp, tolerance);
  const given = signatures.split(' ').slice(0, MAX_SIGNATURES);
  for (const secret of secrets) {
    const expected = await standardSignature(secret, id, timestamp, body);
    if (given.filter((signature) => isSame(expected, signature)).length > 0) return id;
  }
  throw wrong('webhook-signature');
}

/** @returns the id that the headers claim */
async function verifyBody(body: Bytes, get: Get, secrets: readonly string[]): Promise<string> {
  const given = get('x-service-signature');
  if (given === undefined) throw missing('webhook-signature or X-Service-Signature');
  for (const secret of secrets) {
    if (isSame(await bodySignature(secret, body), given)) return get('x-service-event-id') ?? '';
  }
  throw wrong('X-Service-Signature');
}

function requireRecent(timestamp: string, tolerance: number): void {
  if (!/^\d{1,15}$/.test(timestamp)) {
    throw new WebhookVerificationError('invalid_header', 'webhook-timestamp must be a Unix time in seconds.');
  }
  const age = Date.now() / 1000 - Number(timestamp);
  const limit = `more than the ${tolerance} seconds of tolerance`;
  if (age > tolerance) {
    throw new WebhookVerificationError('too_old', `The delivery is ${Math.round(age)} seconds old, ${limit}.`);
  }
  if (-age > tolerance) {
    const message = `The delivery is ${Math.round(-age)} seconds ahead of this machine's clock, ${limit}.`;
    throw new WebhookVerificationError('too_new', message);
  }
}

const missing = (name: string): WebhookVerificationError =>
  new WebhookVerificationError('missing_header', `The header ${name} is missing. Is this a delivery of the service?`);

const wrong = (name: string): WebhookVerificationError =>
  new WebhookVerificationError(
    'wrong_signature',
    `${name} does not match. Check the secret, and that the body is exactly what arrived, before any JSON parser.`,
  );

function bytesOf(body: unknown): Bytes {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (body instanceof Uint8Array) return body as Bytes;
  throw new TypeError(
    'body must be the raw body as bytes or text. With Express: express.raw({ type: "application/json" }).',
  );
}

function secretsOf(secrets: string | readonly string[]): readonly string[] {
  const all = typeof secrets === 'string' ? [secrets] : secrets;
  if (Array.isArray(all) && all.length > 0 && all.every((secret) => typeof secret === 'string' && secret !== ''))
    return all;
  throw new TypeError(
    'secrets must be the secret of the webhook, or a list of secrets. Is the environment variable set?',
  );
}

function getterOf(headers: WebhookHeaders): Get {
  const entries = Symbol.iterator in headers ? headers : Object.entries(headers);
  const values = new Map<string, string>();
  for (const [name, value] of entries as Iterable<[string, string | string[] | undefined]>) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) values.set(name.toLowerCase(), first);
  }
  return (name) => values.get(name);
}

function eventOf(body: Bytes): WebhookEventBody {
  try {
    const event = JSON.parse(new TextDecoder().decode(body)) as WebhookEventBody | null;
    if (typeof event?.event === 'string') return event;
  } catch {
    // As any other body that is no event.
  }
  throw new WebhookVerificationError('invalid_body', 'The body is signed, but it is no event.');
}
