import type { ErrorDetails } from './error-details.js';

/** What every error of this package is, but for the reason of an aborted signal, which is thrown as it is. */
export class VoiceNotesError extends Error {
  override readonly name: string = 'VoiceNotesError';
}

/** The service could not be reached, or the connection was lost. `cause` has the error of the platform. */
export class ConnectionError extends VoiceNotesError {
  override readonly name = 'ConnectionError';
}

/** No complete answer came in time. */
export class TimeoutError extends VoiceNotesError {
  override readonly name = 'TimeoutError';
}

/** Something else than the service answered, such as a proxy, a captive portal, or a web site at a wrong `baseUrl`. */
export class InvalidResponseError extends VoiceNotesError {
  override readonly name = 'InvalidResponseError';
}

/** The types of error that the service documents. */
export type ApiErrorType =
  | 'AuthenticationError'
  | 'PermissionError'
  | 'AccountSuspendedError'
  | 'AddressNotAllowedError'
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

/** Of an {@link ApiError}. */
export interface ApiErrorFields {
  status: number;
  type: string;
  code: number | string | null;
  details: Record<string, unknown>;
  requestId: string | null;
  rateLimit: RateLimit | null;
  retryAfter: number | null;
}

/**
 * The service refused the request or failed on it. `type` says which of the documented errors it is; {@link isApiError}
 * asks for one of them and knows its `details`.
 */
export class ApiError extends VoiceNotesError {
  override readonly name: string = 'ApiError';
  /** The HTTP status. */
  declare readonly status: number;
  /** `UnknownError` when a proxy answered instead of the service. */
  declare readonly type: ApiErrorType | (string & {});
  /** For programs: a number, or a name such as `TRANSCRIPTION_NOT_READY`. Null when a proxy answered. */
  declare readonly code: number | string | null;
  /** Facts about the error, such as the field that is wrong. */
  declare readonly details: Record<string, unknown>;
  /** For the operator of the service, who finds the request in the logs by it. */
  declare readonly requestId: string | null;
  /** The bucket of requests after this one. */
  declare readonly rateLimit: RateLimit | null;
  /** Seconds after which the service asks to try again. */
  declare readonly retryAfter: number | null;

  constructor(message: string, fields: ApiErrorFields) {
    super(message);
    Object.assign(this, fields);
  }
}

/**
 * Whether an error is the refusal of that type, or with that named code. TypeScript then knows its `details`.
 *
 * ```js
 * if (isApiError(error, 'ValidationError')) console.log(error.details.errors);
 * if (isApiError(error, 'TRANSCRIPTION_FAILED')) console.log(error.details.reason);
 * ```
 */
export function isApiError<K extends keyof ErrorDetails>(
  error: unknown,
  kind: K,
): error is ApiError & { details: ErrorDetails[K] };
export function isApiError(error: unknown): error is ApiError;
export function isApiError(error: unknown, kind?: string): boolean {
  return error instanceof ApiError && (kind === undefined || error.type === kind || error.code === kind);
}
