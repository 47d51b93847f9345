import { errors } from 'undici';
import { MAX_HEADER_BYTES } from './response-text.js';

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
