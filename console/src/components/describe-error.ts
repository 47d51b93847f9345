import { ApiError, ConnectionError, TimeoutError } from 'vnotes';

import { PageLoadError } from '../routing/page-load-error';

export interface ErrorDescription {
  /** What happened, in a few words. */
  title: string;
  /** Why, and what to do. */
  hint: string;
  /** For the operator of the service. */
  requestId: string | null;
  /** When to try the same request again, if it may succeed then. */
  retryInSeconds: number | null;
}

/** Between two attempts during an outage of which nobody says how long it lasts. */
const OUTAGE_SECONDS = 5;

type Words = Pick<ErrorDescription, 'title' | 'hint'>;

/** What to tell a person about an error of the client library, or any other. */
export function describeError(error: unknown): ErrorDescription {
  if (error instanceof ApiError) {
    const { requestId, retryAfter, status } = error;
    const retryInSeconds = status === 429 || status >= 500 ? (retryAfter ?? OUTAGE_SECONDS) : null;
    return { ...wordsOf(error), requestId: status >= 500 ? requestId : null, retryInSeconds };
  }
  const mayPass = error instanceof ConnectionError || error instanceof TimeoutError;
  const retryInSeconds = mayPass && navigator.onLine ? OUTAGE_SECONDS : null;
  return { ...wordsOfFault(error), requestId: null, retryInSeconds };
}

function wordsOfFault(error: unknown): Words {
  if (error instanceof ConnectionError) {
    return navigator.onLine
      ? {
          title: 'The service cannot be reached',
          hint: 'It may be restarting, or a proxy is in the way.',
        }
      : { title: 'No network', hint: 'This device is offline. The page loads when it is connected again.' };
  }
  if (error instanceof TimeoutError)
    return { title: 'No answer in time', hint: 'The network or the service is slow now. Try again.' };
  if (error instanceof PageLoadError) {
    return {
      title: 'This page could not be loaded',
      hint: 'There is no network, or the service was updated meanwhile. Try again. If that does not help, reload.',
    };
  }
  const detail = error instanceof Error && error.message ? ` (${error.message})` : '';
  return { title: 'Something went wrong on this page', hint: `Reload it and try again${detail}.` };
}

function wordsOf(error: ApiError): Words {
  const { message } = error;
  switch (error.type) {
    case 'AuthenticationError':
      return { title: 'The key is not accepted', hint: 'It was revoked or has expired. Sign in with another key.' };
    case 'PermissionError':
      return { title: 'This key may not do that', hint: scopeHint(error) };
    case 'AccountSuspendedError':
      return { title: 'The account is suspended', hint: message };
    case 'QuotaExceededError':
      return { title: 'The quota of the account is used up', hint: message };
    case 'RateLimitError':
      return { title: 'Too many requests', hint: 'The limit of the account is reached for the moment.' };
    case 'NotFoundError':
      return { title: 'Not found', hint: 'It was deleted, or the link is not complete.' };
    case 'ConflictError':
      return { title: 'That does not fit the present state', hint: message };
    case 'PreconditionFailedError':
      return {
        title: 'It was changed meanwhile',
        hint: 'Somebody else changed it since it was loaded. Load it again.',
      };
    case 'PayloadTooLargeError':
      return { title: 'The file is too large', hint: message };
    case 'ValidationError':
    case 'MalformedRequestError':
    case 'LimitExceededError':
      return { title: 'The service did not accept that', hint: message };
    case 'ServiceUnavailableError':
      return { title: 'The service is not available now', hint: 'It says that this will pass. Try again.' };
    default:
      return error.status >= 500
        ? { title: 'The service failed', hint: 'Try again. If it stays, give the operator the request id below.' }
        : { title: 'The service refused that', hint: message };
  }
}

/** The service names the scope in its details, or in its message. */
function scopeHint({ details, message }: ApiError): string {
  const scope = details.required_scope;
  return typeof scope === 'string' ? `It needs the scope ${scope}. Sign in with a key that has it.` : message;
}
