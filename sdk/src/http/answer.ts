import { ApiError, ConnectionError, InvalidResponseError, type RateLimit } from './errors.js';

/** A response whose body was read. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** The parsed body; undefined for an answer without one. */
export function jsonOf({ status, headers, text }: Answer): unknown {
  if (status === 204) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const type = headers.get('content-type') ?? '';
    if (/\bjson\b/i.test(type)) throw new ConnectionError('The answer broke off.', { cause });
    throw notTheService(type);
  }
}

/** The body of an answer that is plain text or subtitles. */
export function textOf({ headers, text }: Answer): string {
  const type = headers.get('content-type') ?? '';
  if (/\bhtml\b/i.test(type)) throw notTheService(type);
  return text;
}

function notTheService(type: string): InvalidResponseError {
  const what = type === '' ? 'no type' : `the type ${type.split(';')[0]}`;
  return new InvalidResponseError(
    `Something else than the service answered, with ${what}. Check baseUrl, and proxies on the way.`,
  );
}

/** The refusal that an answer stands for. A proxy may have sent a page instead of the error of the service. */
export function errorOf({ status, headers, text }: Answer): ApiError {
  const error = errorBody(text);
  return new ApiError(error?.message ?? `The service, or a proxy before it, answered ${status}.`, {
    status,
    type: error?.type ?? 'UnknownError',
    code: error?.code ?? null,
    details: error?.details ?? {},
    requestId: headers.get('x-request-id'),
    rateLimit: rateLimitOf(headers),
    retryAfter: retryAfterOf(headers),
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

/** Seconds. Proxies may send a date instead. */
function retryAfterOf(headers: Headers): number | null {
  const value = headers.get('retry-after');
  const seconds = numberOf(value);
  if (seconds !== null || value === null) return seconds;
  const wait = (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(wait) ? Math.max(0, Math.ceil(wait)) : null;
}

interface ErrorBody {
  message?: string;
  type?: string;
  code?: number | string;
  details?: Record<string, unknown>;
}

function errorBody(text: string): ErrorBody | null {
  try {
    const error = (JSON.parse(text) as { error?: unknown } | null)?.error;
    return typeof error === 'object' ? error : null;
  } catch {
    return null;
  }
}

function numberOf(text: string | null): number | null {
  if (text === null || text.trim() === '') return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}
