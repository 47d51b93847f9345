/** What every error of this package is. */
export class VoiceNotesError extends Error {
  override readonly name: string = 'VoiceNotesError';
}

/** The service could not be reached, or the connection was lost. `cause` has the error of the platform. */
export class ConnectionError extends VoiceNotesError {
  override readonly name = 'ConnectionError';
}

/** No complete answer came within the time-out of the request. */
export class TimeoutError extends VoiceNotesError {
  override readonly name = 'TimeoutError';
}

/** The types of error that the service documents. */
export type ApiErrorType =
  | 'AuthenticationError'
  | 'PermissionError'
  | 'AccountSuspendedError'
  | 'QuotaExceededError'
  | 'ValidationError'
  | 'MalformedRequestError'
  | 'LimitExceededError'
  | 'ConflictError'
  | 'PreconditionFailedError'
  | 'PayloadTooLargeError'
  | 'RangeNotSatisfiableError'
  | 'NotFoundError'
  | 'RateLimitError'
  | 'InternalError'
  | 'ServiceUnavailableError';

/** The account's bucket of requests, as the response told it. */
export interface RateLimit {
  /** Requests a minute. */
  limit: number;
  /** Requests left before the burst is used. */
  remaining: number;
  /** When the bucket is full again. */
  reset: Date;
}

export interface ApiErrorFields {
  status: number;
  type: string;
  code: number | string | null;
  details: Record<string, unknown>;
  requestId: string | null;
  rateLimit: RateLimit | null;
  /** Seconds, of the header `Retry-After`. */
  retryAfter: number | null;
}

/** The service refused the request or failed on it. `type` says which of the documented errors it is. */
export class ApiError extends VoiceNotesError {
  override readonly name: string = 'ApiError';
  readonly status: number;
  readonly type: ApiErrorType | (string & {});
  readonly code: number | string | null;
  readonly details: Record<string, unknown>;
  readonly requestId: string | null;
  readonly rateLimit: RateLimit | null;
  readonly retryAfter: number | null;

  constructor(message: string, fields: ApiErrorFields) {
    super(message);
    this.status = fields.status;
    this.type = fields.type;
    this.code = fields.code;
    this.details = fields.details;
    this.requestId = fields.requestId;
    this.rateLimit = fields.rateLimit;
    this.retryAfter = fields.retryAfter;
  }
}

/** The error that a response stands for. Its body is read. */
export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  return errorFrom(response.status, response.headers, text);
}

export function errorFrom(status: number, headers: Headers, text: string): ApiError {
  const error = bodyOf(text);
  return new ApiError(error?.message ?? `The service answered ${status}.`, {
    status,
    type: error?.type ?? 'UnknownError',
    code: error?.code ?? null,
    details: error?.details ?? {},
    requestId: headers.get('x-request-id'),
    rateLimit: rateLimitOf(headers),
    retryAfter: numberOf(headers.get('retry-after')),
  });
}

/** Null for an operation without limits, or in a browser of another origin that may not see the headers. */
export function rateLimitOf(headers: Headers): RateLimit | null {
  const limit = numberOf(headers.get('x-ratelimit-limit'));
  const remaining = numberOf(headers.get('x-ratelimit-remaining'));
  const reset = numberOf(headers.get('x-ratelimit-reset'));
  if (limit === null || remaining === null || reset === null) return null;
  return { limit, remaining, reset: new Date(reset * 1000) };
}

interface ErrorBody {
  message?: string;
  type?: string;
  code?: number | string;
  details?: Record<string, unknown>;
}

/** A proxy may answer with a page instead of the envelope. */
function bodyOf(text: string): ErrorBody | null {
  try {
    const body = JSON.parse(text) as { error?: ErrorBody } | null;
    return body?.error ?? null;
  } catch {
    return null;
  }
}

function numberOf(text: string | null): number | null {
  if (text === null || text.trim() === '') return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}
