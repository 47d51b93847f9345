/**
 * The catalogue of errors that clients see. Services throw these and nothing else; one filter renders them.
 * Codes, types and statuses are part of the interface (docs/interface.md, Errors).
 */
export abstract class ApiError extends Error {
  abstract readonly status: number;
  /** An integer, but for the named codes of D26, D52, D78, D96 and D104. */
  abstract readonly code: number | string;
  abstract readonly type: string;
  /** Whole seconds for a `Retry-After` header. */
  readonly retryAfter?: number;

  constructor(
    message: string,
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

/** One broken rule: the field or parameter, and what it must be. */
export interface BrokenRule {
  field: string;
  reason: string;
}

/** The same message for every cause: it does not tell whether a key exists (D14). */
export class AuthenticationError extends ApiError {
  readonly status = 401;
  readonly code: number | string = 1001;
  readonly type = 'AuthenticationError';

  constructor(
    message = 'Send a valid API key as X-Service-API-Key and X-Service-API-Secret or as Authorization: Bearer key.secret, or an access token.',
  ) {
    super(message);
  }
}

export class PermissionError extends ApiError {
  readonly status = 403;
  readonly code: number | string = 1003;
  readonly type = 'PermissionError';

  /** @param scope that is needed; null if no scope would do. */
  constructor(scope: string | null, message = `This API key lacks the scope ${scope}.`, details = {}) {
    super(message, scope === null ? details : { required_scope: scope });
  }
}

/** The operator has switched it off (D104). */
export class SignInWayOffError extends PermissionError {
  override readonly code = 'SIGN_IN_WAY_OFF';

  constructor(way: string) {
    super(null, `Signing in with a ${way} is switched off. Ask the operator of this service for another way.`, { way });
  }
}

export class AccountSuspendedError extends ApiError {
  readonly status = 403;
  readonly code = 1004;
  readonly type = 'AccountSuspendedError';

  constructor() {
    super('This account is suspended. Contact the operator of this service.');
  }
}

export class QuotaExceededError extends ApiError {
  readonly status = 403;
  readonly code = 1005;
  readonly type = 'QuotaExceededError';

  /** @param resetsAt when the use starts again at 0; null where it goes down with the recordings. */
  constructor(
    readonly quota: 'stored_bytes' | 'audio_seconds_per_month' | 'queued_audio_seconds',
    limit: number | null,
    used: number,
    resetsAt: string | null,
  ) {
    super(`This does not fit into the quota ${quota}: ${used} of ${limit} used. ${QUOTA_ADVICE[quota]}`, {
      quota,
      limit,
      used,
      resets_at: resetsAt,
    });
  }
}

/** The API key may be used only from some addresses. */
export class AddressNotAllowedError extends ApiError {
  readonly status = 403;
  readonly code = 1006;
  readonly type = 'AddressNotAllowedError';

  /** @param address of the client, as `TRUST_PROXY` tells it. */
  constructor(address: string) {
    super(`This API key may not be used from ${address}. Send the request from one of its allowed_addresses.`, {
      address,
    });
  }
}

const QUOTA_ADVICE = {
  stored_bytes: 'Delete recordings, or ask the operator of this service for a larger quota.',
  audio_seconds_per_month: 'Wait for the next month, or ask the operator of this service for a larger quota.',
  queued_audio_seconds: 'Wait until recordings are transcribed, or delete some that are processing.',
};

export class InvalidRequestError extends ApiError {
  readonly status = 400;
  readonly code = 2001;
  readonly type = 'ValidationError';

  readonly broken: readonly BrokenRule[];

  /** The message explains the first broken rule and names the fields of the others; `details.errors` holds them all. */
  constructor(first: BrokenRule, ...others: BrokenRule[]) {
    super([sentence(first), ...alsoWrong(others)].join(' '), { ...first, errors: [first, ...others] });
    this.broken = [first, ...others];
  }
}

/** Fields that a message names after the first: a body may have thousands of unknown fields. */
const MAX_NAMED_FIELDS = 3;

/** Reasons are predicates (`must be …`), or sentences that begin with a capital or a quotation mark. */
function sentence({ field, reason }: BrokenRule): string {
  return `${field}${/^["A-Z]/.test(reason) ? ':' : ''} ${reason}.`;
}

function alsoWrong(others: BrokenRule[]): string[] {
  if (others.length === 0) return [];
  const named = others.slice(0, MAX_NAMED_FIELDS).map(({ field }) => field);
  const unnamed = others.length - named.length;
  return [`Also wrong: ${named.join(', ')}${unnamed > 0 ? ` and ${unnamed} more` : ''}.`];
}

export class MalformedRequestError extends ApiError {
  readonly status: number = 400;
  readonly code = 2002;
  readonly type = 'MalformedRequestError';
}

/** The request did not arrive in time, or too slowly. */
export class RequestTimeoutError extends MalformedRequestError {
  override readonly status = 408;
}

/** The operation is a WebSocket, and the request asks for none. */
export class UpgradeRequiredError extends MalformedRequestError {
  override readonly status = 426;
}

export class LimitExceededError extends ApiError {
  readonly status = 400;
  readonly code = 2005;
  readonly type = 'LimitExceededError';

  constructor(what: string, maximum: number) {
    super(`This account has reached the limit of ${maximum} ${what}. Remove one to add another.`, { maximum });
  }
}

export class ConflictError extends ApiError {
  readonly status = 409;
  readonly code = 2009;
  readonly type = 'ConflictError';
}

/** The resource is no longer what the client has seen. */
export class PreconditionFailedError extends ApiError {
  readonly status = 412;
  readonly code = 2012;
  readonly type = 'PreconditionFailedError';

  /** @param entityTag of the present version */
  constructor(what: string, entityTag: string) {
    super(`${what} has changed since you read it. Read it again, then repeat the change with its new ETag.`, {
      etag: entityTag,
    });
  }
}

export class PayloadTooLargeError extends ApiError {
  readonly status = 413;
  readonly code = 2013;
  readonly type = 'PayloadTooLargeError';

  constructor(what: string, maxBytes: number) {
    super(`${what} is larger than ${sizeText(maxBytes)}.`, { max_bytes: maxBytes });
  }
}

/** `25 MB (26,214,400 bytes)` */
function sizeText(bytes: number): string {
  const [size, unit] = bytes >= 1_048_576 ? [bytes / 1_048_576, 'MB'] : [bytes / 1024, 'KB'];
  return `${size} ${unit} (${bytes.toLocaleString('en-US')} bytes)`;
}

/** No requested range lies within the file. */
export class RangeNotSatisfiableError extends ApiError {
  readonly status = 416;
  readonly code = 2016;
  readonly type = 'RangeNotSatisfiableError';

  constructor(sizeBytes: number) {
    super(`No requested range lies within the ${sizeBytes} bytes of the file.`, { size_bytes: sizeBytes });
  }
}

export class NotFoundError extends ApiError {
  readonly status = 404;
  readonly code: number | string = 3001;
  readonly type = 'NotFoundError';

  constructor(what: string, message = `No such ${what}.`, details = {}) {
    super(message, details);
  }
}

/** A path, or a method, that the service does not have. */
export class UnknownPathError extends NotFoundError {
  constructor(message: string) {
    super('path', message);
  }
}

export class TranscriptionNotReadyError extends NotFoundError {
  override readonly code = 'TRANSCRIPTION_NOT_READY';

  constructor() {
    super('transcription', 'The recording is still being transcribed. Try again later, or create a webhook.');
  }
}

export class TranscriptionFailedError extends NotFoundError {
  override readonly code = 'TRANSCRIPTION_FAILED';

  constructor(reason: string) {
    const message = 'The recording could not be transcribed; details.reason says why. A retry is possible.';
    super('transcription', message, { reason });
  }
}

export class RateLimitError extends ApiError {
  readonly status = 429;
  readonly code = 4003;
  readonly type = 'RateLimitError';

  /** @param details beside `retry_after` */
  constructor(
    override readonly retryAfter: number,
    message = `Rate limit exceeded. Retry after ${seconds(retryAfter)}.`,
    details = {},
  ) {
    super(message, { retry_after: retryAfter, ...details });
  }
}

/** More uploads at the same time than the account may have. */
export class ConcurrentUploadsError extends RateLimitError {
  constructor(limit: number, used: number) {
    const message = `This account may have ${limit} uploads at a time. Retry when one has ended.`;
    super(1, message, { quota: 'concurrent_uploads', limit, used });
  }
}

/** More live recordings at the same time than the account may have uploads. */
export class ConcurrentLiveRecordingsError extends RateLimitError {
  constructor(limit: number, used: number) {
    const message = `This account may have ${limit} live recordings at a time. End one to begin another.`;
    super(1, message, { quota: 'concurrent_uploads', limit, used });
  }
}

/** More event streams at the same time than the account may have. */
export class TooManyEventStreamsError extends RateLimitError {
  constructor(limit: number, used: number) {
    const message = `This account may have ${limit} event streams at a time. Close one, or use it for several readers.`;
    super(1, message, { limit, used });
  }
}

/** More test calls to webhooks at the same time than the account may have. */
export class TestInProgressError extends RateLimitError {
  constructor() {
    super(1, 'This account may have one test call to a webhook at a time. Retry when it has ended.');
  }
}

/** Sent before a request was read. */
export class TooManyConnectionsError extends RateLimitError {
  constructor(limit: number) {
    super(1, `An address may have ${limit} connections at a time. Close one, or use it again.`);
  }
}

export class InternalError extends ApiError {
  readonly status = 500;
  readonly code = 5001;
  readonly type = 'InternalError';

  constructor(requestId: string) {
    super(`Internal error. Report the request id ${requestId} to the operator of this service.`, {
      request_id: requestId,
    });
  }
}

export class ServiceUnavailableError extends ApiError {
  readonly status = 503;
  readonly code = 5003;
  readonly type = 'ServiceUnavailableError';

  constructor(override readonly retryAfter = 5) {
    super(`The service is temporarily unavailable. Retry after ${seconds(retryAfter)}.`);
  }
}

function seconds(count: number): string {
  return count === 1 ? '1 second' : `${count} seconds`;
}
