import { type Dispatcher, errors } from 'undici';

/** Why an attempt got no HTTP status (D39). */
export const DELIVERY_ERROR_KINDS = [
  'dns',
  'tls',
  'connect',
  'timeout',
  'refused_address',
  'reset',
  // Nothing was sent: the secret cannot be decrypted.
  'secret',
] as const;
export type DeliveryErrorKind = (typeof DELIVERY_ERROR_KINDS)[number];

/** Ends an attempt. Its message is shown to the webhook's owner, its cause to the operator only. */
export class DeliveryAttemptError extends Error {
  override readonly name = 'DeliveryAttemptError';

  constructor(
    readonly kind: DeliveryErrorKind,
    message: string,
    options?: { cause: string },
  ) {
    super(message, options);
  }
}

interface Description {
  kind: DeliveryErrorKind;
  message: string;
}

/** Longest response headers, in bytes. */
export const MAX_HEADER_BYTES = 16_384;

const CLOSED: Description = { kind: 'reset', message: 'the connection was closed before an answer' };
const KNOWN: Record<string, Description> = {
  ECONNREFUSED: { kind: 'connect', message: 'the connection was refused' },
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  UND_ERR_SOCKET: CLOSED,
  UND_ERR_HEADERS_OVERFLOW: {
    kind: 'reset',
    message: `the answer's headers are longer than ${MAX_HEADER_BYTES} bytes`,
  },
  CERT_HAS_EXPIRED: { kind: 'tls', message: 'the TLS certificate has expired' },
  DEPTH_ZERO_SELF_SIGNED_CERT: { kind: 'tls', message: 'the TLS certificate is self-signed' },
  SELF_SIGNED_CERT_IN_CHAIN: { kind: 'tls', message: 'the TLS certificate is self-signed' },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: {
    kind: 'tls',
    message: 'the TLS certificate cannot be verified (an intermediate one may be missing)',
  },
  ERR_TLS_CERT_ALTNAME_INVALID: { kind: 'tls', message: 'the TLS certificate is for another host name' },
};

/** Codes of OpenSSL and of Node's TLS that have no text of their own. */
const TLS_CODE = /^(?:ERR_(?:TLS|SSL)_|EPROTO$|CERT_|CRL_|UNABLE_TO_|HOSTNAME_MISMATCH$|INVALID_(?:CA|PURPOSE)$)/;

/** Whether the receiver closed the connection. */
export const isClosure = (error: unknown): boolean => KNOWN[codeOf(error)] === CLOSED;

/** Never the error's own message, which may contain addresses of the operator's network. */
export function describeError(error: unknown): Description {
  if (error instanceof DeliveryAttemptError) return error;
  if (error instanceof errors.HTTPParserError) return { kind: 'reset', message: 'the answer is not valid HTTP' };
  const code = codeOf(error) || 'unknown error';
  return KNOWN[code] ?? { kind: kindOf(code), message: `the connection failed (${code})` };
}

function kindOf(code: string): DeliveryErrorKind {
  if (TLS_CODE.test(code)) return 'tls';
  return code === 'ETIMEDOUT' ? 'timeout' : 'connect';
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException | null)?.code ?? '';

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
