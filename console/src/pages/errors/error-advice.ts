import type { VoiceNotes } from 'vnotes';
import { t, type Text } from '../../language/texts';

export type RequestErrors = Awaited<ReturnType<VoiceNotes['account']['errors']>>;
export type RequestError = RequestErrors['errors'][number];

/** What to do about a kind of refusal, by its type. */
const ADVICE: Record<string, Text> = {
  AuthenticationError: 'The credentials were missing, wrong, expired or revoked. If they are lost, create a new key.',
  PermissionError: 'The key does not have the scope named in the message. Create one that has it on the Keys page.',
  AccountSuspendedError: 'The account is suspended. Only the operator of the service can change that.',
  QuotaExceededError:
    'A quota is used up. The Usage page shows which one and when it resets. Deleting recordings frees storage.',
  MalformedRequestError:
    'The body or its Content-Type is not what the operation expects. Compare the request with the one in /docs.',
  LimitExceededError: 'The account has reached its limit of keys or webhooks. Delete some that are not used.',
  ConflictError:
    'The request conflicts with the current state. Fetch the resource and decide again. Use a new Idempotency-Key for different content.',
  PreconditionFailedError: 'Someone else changed it first. Fetch it again, and repeat the change with the new ETag.',
  PayloadTooLargeError:
    'The file or body is larger than the limit in the message. Compress the audio, or split it into parts.',
  RangeNotSatisfiableError: 'The requested range is outside the audio. Request its size first.',
  RateLimitError:
    'Requests came faster than the plan allows. Wait for Retry-After, send fewer requests at a time, and use webhooks or the event stream instead of polling.',
  InternalError:
    'This is a bug in the service. Try again. If it keeps happening, give the operator a request ID from below.',
  ServiceUnavailableError:
    'The service was temporarily unavailable. Repeat the request after Retry-After; repeat uploads with the same Idempotency-Key.',
};

export function errorAdvice({ type, code, field, operation }: RequestError): string {
  if (type === 'ValidationError') {
    return field === null
      ? t('The request breaks the rule named in the message. /docs lists the rules of each operation.')
      : t('Correct “{field}” as the message says. /docs lists the rules of each field.', { field });
  }
  if (type === 'NotFoundError') return t(notFoundAdvice(code, operation));
  return t(ADVICE[type] ?? 'The message says what went wrong. The operator of the service can look up a request ID.');
}

function notFoundAdvice(code: RequestError['code'], operation: string): Text {
  if (code === 'TRANSCRIPTION_NOT_READY') {
    return 'The transcript was requested too early. Wait for the event recording.transcribed instead of polling.';
  }
  if (code === 'TRANSCRIPTION_FAILED')
    return 'The recording could not be transcribed. Its page says why and lets you retry.';
  if (operation.endsWith('*'))
    return 'There is no such path or method. The API is under /v1; /docs lists its operations.';
  return 'Nothing in this account has this ID. It was deleted, or belongs to another account.';
}
