import { errors } from 'undici';

/** Why a request to a URL of a client got no HTTP status. */
export const OUTGOING_ERROR_KINDS = ['dns', 'tls', 'connect', 'timeout', 'refused_address', 'reset'] as const;
export type OutgoingErrorKind = (typeof OUTGOING_ERROR_KINDS)[number];

/** Ends a request. Its message may be shown to the owner of the URL, its cause to the operator only. */
export class OutgoingRequestError extends Error {
  override readonly name = 'OutgoingRequestError';

  constructor(
    readonly kind: OutgoingErrorKind,
    message: string,
    options?: { cause: string },
  ) {
    super(message, options);
  }
}

/** What was wrong with the proxy of EGRESS_PROXY_URL. `silent`: it takes connections and answers nothing. */
export type ProxyFailure = 'unreachable' | 'credentials' | 'silent';

const PROXY_FAILURES: Record<ProxyFailure, string> = {
  unreachable: 'cannot be reached',
  credentials: 'refused its credentials (407)',
  silent: 'does not answer',
};

/** The proxy failed, not the host behind it: no attempt at the host. For the operator. */
export class ProxyFailedError extends Error {
  override readonly name = 'ProxyFailedError';
  readonly code = 'EGRESS_PROXY_FAILED';

  constructor(
    readonly failure: ProxyFailure,
    options?: ErrorOptions,
  ) {
    super(`the proxy of EGRESS_PROXY_URL ${PROXY_FAILURES[failure]}`, options);
  }
}

interface Description {
  kind: OutgoingErrorKind;
  message: string;
}

/** Longest response headers, in bytes. */
export const MAX_HEADER_BYTES = 16_384;

const CLOSED: Description = { kind: 'reset', message: 'the connection was closed before an answer' };
const KNOWN: Record<string, Description> = {
  EGRESS_PROXY_FAILED: { kind: 'connect', message: 'this service could not reach the internet; try again later' },
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

/** Whether the other side closed the connection. */
export const isClosure = (error: unknown): boolean => KNOWN[codeOf(error)] === CLOSED;

/** Never the error's own message, which may contain addresses of the operator's network. */
export function describeError(error: unknown): Description {
  if (error instanceof OutgoingRequestError) return error;
  if (error instanceof errors.HTTPParserError) return { kind: 'reset', message: 'the answer is not valid HTTP' };
  const code = codeOf(error) || 'unknown error';
  return KNOWN[code] ?? { kind: kindOf(code), message: `the connection failed (${code})` };
}

function kindOf(code: string): OutgoingErrorKind {
  if (TLS_CODE.test(code)) return 'tls';
  return code === 'ETIMEDOUT' ? 'timeout' : 'connect';
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException | null)?.code ?? '';
