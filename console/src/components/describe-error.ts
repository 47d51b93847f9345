import { ApiError, ConnectionError, TimeoutError } from 'vnotes';

import { t } from '../language/texts';
import { PageLoadError } from '../routing/page-load-error';
import { session } from '../session/session';

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
          title: t('The service cannot be reached'),
          hint: t('It may be restarting, or a proxy may be blocking it.'),
        }
      : { title: t('No network'), hint: t('You are offline. This page loads when you are back online.') };
  }
  if (error instanceof TimeoutError)
    return { title: t('The request timed out'), hint: t('The network or the service is slow. Try again.') };
  if (error instanceof PageLoadError) {
    return {
      title: t('This page could not be loaded'),
      hint: t('You may be offline, or the service was updated. Try again, or reload the page.'),
    };
  }
  const detail = error instanceof Error ? error.message : '';
  const hint = detail ? t('Reload it and try again ({detail}).', { detail }) : t('Reload it and try again.');
  return { title: t('Something went wrong on this page'), hint };
}

function wordsOf(error: ApiError): Words {
  const { message } = error;
  switch (error.type) {
    case 'AuthenticationError':
      return session.peek()
        ? { title: t('Your session has ended'), hint: t('Sign in again.') }
        : { title: t('This key no longer works'), hint: t('It was revoked or has expired. Sign in with another key.') };
    case 'PermissionError':
      return session.peek()
        ? { title: t('Your role does not allow this'), hint: message }
        : { title: t('This key does not have permission'), hint: scopeHint(error) };
    case 'AccountSuspendedError':
      return { title: t('The account is suspended'), hint: message };
    case 'QuotaExceededError':
      return { title: t('The account has reached its quota'), hint: message };
    case 'RateLimitError':
      return { title: t('Too many requests'), hint: t('The account has reached its rate limit.') };
    case 'NotFoundError':
      return { title: t('Not found'), hint: t('It may have been deleted, or the link is incomplete.') };
    case 'ConflictError':
      return { title: t('Not possible right now'), hint: message };
    case 'PreconditionFailedError':
      return {
        title: t('This was changed in the meantime'),
        hint: t('Someone else changed it after you opened it. Reload it and try again.'),
      };
    case 'PayloadTooLargeError':
      return { title: t('The file is too large'), hint: message };
    case 'ValidationError':
    case 'MalformedRequestError':
    case 'LimitExceededError':
      return { title: t('The service did not accept the request'), hint: message };
    case 'ServiceUnavailableError':
      return { title: t('The service is temporarily unavailable'), hint: t('Try again in a moment.') };
    default:
      return error.status >= 500
        ? {
            title: t('Something went wrong in the service'),
            hint: t('Try again. If the problem persists, give the operator the request ID below.'),
          }
        : { title: t('The service refused the request'), hint: message };
  }
}

/** The service names the scope in its details, or in its message. */
function scopeHint({ details, message }: ApiError): string {
  const scope = details.required_scope;
  return typeof scope === 'string'
    ? t('It needs the scope {scope}. Sign in with a key that has it.', { scope })
    : message;
}
