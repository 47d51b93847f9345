import type { RequestError } from './error-group';

/** What to do about a kind of refusal, by its type. */
const ADVICE: Record<string, string> = {
  AuthenticationError: 'The credentials were missing, wrong, expired or revoked. Make a new key if they were lost.',
  PermissionError: 'The key lacks the scope that the message names. Make one that holds it, on the page Keys.',
  AccountSuspendedError: 'The account is suspended. Only the operator of the service can change that.',
  QuotaExceededError:
    'A quota is full: the page Usage shows which, and when it is free again. Deleting recordings frees storage.',
  MalformedRequestError:
    'The body or its Content-Type is not what the operation takes. Compare the request with the one in /docs.',
  LimitExceededError: 'The account has the most keys or webhooks that it may have. Remove some that are not used.',
  ConflictError:
    'The request does not fit the present state. Get the resource and decide anew; use a new Idempotency-Key for other content.',
  PreconditionFailedError: 'Somebody else changed it first. Get it again, and repeat the change with the new ETag.',
  PayloadTooLargeError:
    'The file or body is over the limit in the message. Send audio in a compressed format, or in parts.',
  RangeNotSatisfiableError: 'The requested range lies outside the audio. Ask for its size first.',
  RateLimitError:
    'Requests came faster than the plan allows. Wait for Retry-After, send fewer at a time, and use webhooks or the event stream instead of polling.',
  InternalError: 'A defect of the service. Try again; if it stays, give the operator a request id from below.',
  ServiceUnavailableError:
    'The service could not answer for a while. Repeat the request after Retry-After; uploads with the same Idempotency-Key.',
};

export function errorAdvice({ type, code, field, operation }: RequestError): string {
  if (type === 'ValidationError') {
    return field === null
      ? 'The request breaks a rule that the message names. /docs has the rules of each operation.'
      : `Mend “${field}” as the message says. /docs has the rules of each field.`;
  }
  if (type === 'NotFoundError') return notFoundAdvice(code, operation);
  return ADVICE[type] ?? 'The message says what was wrong. The operator of the service can look a request id up.';
}

function notFoundAdvice(code: RequestError['code'], operation: string): string {
  if (code === 'TRANSCRIPTION_NOT_READY') {
    return 'The text was asked for too early. Wait for the event recording.transcribed instead of asking again and again.';
  }
  if (code === 'TRANSCRIPTION_FAILED')
    return 'The recording could not be transcribed. Its page tells why, and can retry it.';
  if (operation.endsWith('*'))
    return 'There is no such path or method. The API is under /v1; /docs lists its operations.';
  return 'The id belongs to nothing in this account: it was deleted, or is that of another account.';
}
