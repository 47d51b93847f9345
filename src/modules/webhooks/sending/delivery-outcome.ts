import type { Dispatcher } from 'undici';
import { OUTGOING_ERROR_KINDS } from '../../../platform/http/outgoing/outgoing-error.js';

/** Why an attempt got no HTTP status (D39). */
export const DELIVERY_ERROR_KINDS = [
  ...OUTGOING_ERROR_KINDS,
  // Nothing was sent: the secret cannot be decrypted.
  'secret',
] as const;
export type DeliveryErrorKind = (typeof DELIVERY_ERROR_KINDS)[number];

/** Shown in the delivery log (D39). */
const KEPT_BYTES = 1024;
/** This much is read, so that an ordinary receiver sees no reset. */
const MAX_BODY_BYTES = 4096;
const MAX_BODY_MS = 1000;

/** Control characters but tab and line ends, and those that change the direction of the text around them. */
const UNSAFE = /[^\P{Cc}\t\n\r]|[\u202a-\u202e\u2066-\u2069]/gu;

/**
 * The start of a response body, which ends the body. Errors are ignored: the status has decided the attempt. Not
 * undici's `dump`, which reads nothing of a body with a large Content-Length.
 */
export async function readResponse(body: Dispatcher.ResponseData['body']): Promise<string> {
  if (body.closed) return '';
  return await new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const timer = setTimeout(() => body.destroy(), MAX_BODY_MS);
    body.on('error', () => undefined);
    body.on('data', (chunk: Buffer) => {
      if (length < KEPT_BYTES) chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_BODY_BYTES) body.destroy();
    });
    body.on('close', () => {
      clearTimeout(timer);
      resolve(length === 0 ? '' : safeText(Buffer.concat(chunks).subarray(0, KEPT_BYTES)));
    });
  });
}

/** What is no text becomes U+FFFD, which Postgres and terminals take. A character that was cut is left out. */
export function safeText(bytes: Buffer): string {
  return new TextDecoder().decode(bytes, { stream: true }).replace(UNSAFE, '\ufffd');
}
