import type { ErrorShape } from '../../platform/errors/error-body.js';
import { ApiError, InvalidRequestError, PayloadTooLargeError, UnknownPathError } from '../../platform/errors/errors.js';

/** The transcript did not come in time. Not a failure: the transcription continues. */
export class TranscriptionTimeoutError extends ApiError {
  readonly status = 408;
  readonly code = 2008;
  readonly type = 'TranscriptionTimeoutError';
  /** Clients repeat a 408 by themselves. */
  override readonly retryAfter = 1;

  constructor(seconds: number) {
    super(
      `Not transcribed within ${seconds} seconds; the transcription goes on. Send the same request again to wait for it.`,
    );
  }
}

/** The recording is stored and could not be transcribed. */
export class AudioNotTranscribedError extends ApiError {
  readonly status = 400;
  readonly code = 2015;
  readonly type = 'AudioNotTranscribedError';

  constructor(reason: string) {
    super(reason || 'The audio could not be transcribed.');
  }
}

/** What clients of OpenAI know, by our own types: its `type` and `code`. */
const KINDS: Record<string, readonly [type: string, code: string | null]> = {
  AuthenticationError: ['invalid_request_error', 'invalid_api_key'],
  PermissionError: ['invalid_request_error', 'insufficient_permissions'],
  AccountSuspendedError: ['invalid_request_error', 'account_deactivated'],
  AddressNotAllowedError: ['invalid_request_error', 'ip_not_authorized'],
  QuotaExceededError: ['insufficient_quota', 'insufficient_quota'],
  ValidationError: ['invalid_request_error', 'invalid_value'],
  MalformedRequestError: ['invalid_request_error', null],
  ConflictError: ['invalid_request_error', 'conflict'],
  PayloadTooLargeError: ['invalid_request_error', 'file_too_large'],
  NotFoundError: ['invalid_request_error', 'not_found'],
  RateLimitError: ['rate_limit_error', 'rate_limit_exceeded'],
  TranscriptionTimeoutError: ['timeout_error', 'timeout'],
  AudioNotTranscribedError: ['invalid_request_error', 'transcription_failed'],
  InternalError: ['server_error', 'internal_error'],
  ServiceUnavailableError: ['server_error', 'service_unavailable'],
};

/** The envelope of OpenAI's errors, with all of its four fields (D45). */
export function openAiErrorBody(error: ApiError): object {
  const [type, code] = KINDS[error.type] ?? ['server_error', null];
  return {
    error: {
      message: error.message,
      type,
      param: paramOf(error),
      code: error instanceof UnknownPathError ? 'unknown_url' : code,
    },
  };
}

function paramOf(error: ApiError): string | null {
  if (error instanceof InvalidRequestError) return error.broken[0]?.field ?? null;
  return error instanceof PayloadTooLargeError || error instanceof AudioNotTranscribedError ? 'file' : null;
}

const PATHS = /^\/v1\/(audio\/(transcriptions|translations)|models(\/[^/]*)?)$/;

export const OPENAI_ERRORS: ErrorShape = {
  body: openAiErrorBody,
  appliesTo: (path) => PATHS.test(path),
  schemaName: 'OpenAiError',
  schema: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['message', 'type', 'param', 'code'],
        properties: {
          message: { type: 'string', description: 'Explains the error to people; its wording may change.' },
          type: { type: 'string', description: 'Kind of the error.' },
          param: { type: 'string', nullable: true, description: 'The field that is wrong, if it is one.' },
          code: { type: 'string', nullable: true, description: 'Identifies the error for programs.' },
        },
      },
    },
  },
};
