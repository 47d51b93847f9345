/**
 * The catalogue of errors that clients see. Services throw these and nothing else; one filter renders them.
 * Codes, types and statuses are part of the interface (docs/interface.md, Errors).
 */
export abstract class ApiError extends Error {
  abstract readonly status: number;
  /** An integer, but for the two named codes of D26. */
  abstract readonly code: number | string;
  abstract readonly type: string;
  readonly details: Record<string, unknown> = {};
  /** Whole seconds for a `Retry-After` header. */
  readonly retryAfter?: number;
}

/** One broken rule: the field or parameter, and what it must be. */
export interface BrokenRule {
  field: string;
  reason: string;
}

/** One message for every cause, so that a guesser learns nothing (D14). */
export class AuthenticationError extends ApiError {
  readonly status = 401;
  readonly code = 1001;
  readonly type = 'AuthenticationError';

  constructor() {
    super('The API credentials are missing or not valid.');
  }
}

export class PermissionError extends ApiError {
  readonly status = 403;
  readonly code = 1003;
  readonly type = 'PermissionError';
  override readonly details: Record<string, unknown>;

  constructor(scope: string, message = `These credentials lack the scope ${scope}.`) {
    super(message);
    this.details = { required_scope: scope };
  }
}

export class AccountSuspendedError extends ApiError {
  readonly status = 403;
  readonly code = 1004;
  readonly type = 'AccountSuspendedError';

  constructor() {
    super('This account is suspended.');
  }
}

export class InvalidRequestError extends ApiError {
  readonly status = 400;
  readonly code = 2001;
  readonly type = 'ValidationError';
  override readonly details: Record<string, unknown>;

  constructor(first: BrokenRule, ...others: BrokenRule[]) {
    super(`${first.field} ${first.reason}`);
    this.details = { ...first, errors: [first, ...others] };
  }
}

export class MalformedRequestError extends ApiError {
  readonly status = 400;
  readonly code = 2002;
  readonly type = 'MalformedRequestError';
}

export class LimitExceededError extends ApiError {
  readonly status = 400;
  readonly code = 2005;
  readonly type = 'LimitExceededError';
  override readonly details: Record<string, unknown>;

  constructor(what: string, maximum: number) {
    super(`An account holds at most ${maximum} ${what}.`);
    this.details = { maximum };
  }
}

export class ConflictError extends ApiError {
  readonly status = 409;
  readonly code = 2009;
  readonly type = 'ConflictError';
}

export class PayloadTooLargeError extends ApiError {
  readonly status = 413;
  readonly code = 2013;
  readonly type = 'PayloadTooLargeError';
  override readonly details: Record<string, unknown>;

  constructor(what: string, maxBytes: number) {
    super(`${what} is larger than ${maxBytes} bytes.`);
    this.details = { max_bytes: maxBytes };
  }
}

export class NotFoundError extends ApiError {
  readonly status = 404;
  readonly code: number | string = 3001;
  readonly type = 'NotFoundError';

  constructor(what: string) {
    super(`There is no such ${what}.`);
  }
}

export class TranscriptionNotReadyError extends NotFoundError {
  override readonly code = 'TRANSCRIPTION_NOT_READY';

  constructor() {
    super('transcription');
    this.message = 'The recording is still being transcribed.';
  }
}

export class TranscriptionFailedError extends NotFoundError {
  override readonly code = 'TRANSCRIPTION_FAILED';
  override readonly details: Record<string, unknown>;

  constructor(reason: string) {
    super('transcription');
    this.message = 'The recording could not be transcribed.';
    this.details = { reason };
  }
}

export class RateLimitError extends ApiError {
  readonly status = 429;
  readonly code = 4003;
  readonly type = 'RateLimitError';
  override readonly details: Record<string, unknown>;

  constructor(override readonly retryAfter: number) {
    super(`The rate limit is exceeded. Try again in ${retryAfter} s.`);
    this.details = { retry_after: retryAfter };
  }
}

export class InternalError extends ApiError {
  readonly status = 500;
  readonly code = 5001;
  readonly type = 'InternalError';
  override readonly details: Record<string, unknown>;

  constructor(requestId: string) {
    super('Something went wrong on our side.');
    this.details = { request_id: requestId };
  }
}

export class ServiceUnavailableError extends ApiError {
  readonly status = 503;
  readonly code = 5003;
  readonly type = 'ServiceUnavailableError';

  constructor(override readonly retryAfter = 5) {
    super('The service is unavailable for the moment.');
  }
}
