import { ApiError, ConnectionError, TimeoutError } from './errors.js';

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 8000;
/** A longer wait than this is for the caller to decide. */
const LONGEST_RETRY_AFTER_SECONDS = 120;

/**
 * Whether the same request may succeed later. What the service refused for its content never does.
 * @param mayRepeat whether a request that did succeed, its answer lost, may be sent again
 */
export function isRetryable(error: unknown, mayRepeat: boolean): boolean {
  if (error instanceof ConnectionError || error instanceof TimeoutError) return mayRepeat;
  if (!(error instanceof ApiError)) return false;
  if ((error.retryAfter ?? 0) > LONGEST_RETRY_AFTER_SECONDS) return false;
  if (error.status === 429) return true;
  // The service sends Retry-After with the 503 of a request that it has not begun; a proxy may have lost the answer.
  if (error.status === 503 && error.retryAfter !== null) return true;
  return mayRepeat && (error.status === 408 || error.status >= 500);
}

/**
 * Milliseconds before the next attempt: what the service asks for, else doubling, with jitter so that clients that
 * failed together do not return together.
 * @param attempt that failed: 1 for the first
 */
export function delayBefore(error: unknown, attempt: number, random: () => number = Math.random): number {
  const asked = error instanceof ApiError ? error.retryAfter : null;
  if (asked !== null) return asked * 1000 + random() * FIRST_DELAY_MS;
  return Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), LONGEST_DELAY_MS) * (0.5 + random() / 2);
}

/** Waits, and ends at once with the signal's reason when it is aborted. */
export function sleep(ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const end = () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    };
    const timer = setTimeout(end, ms);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', abort, { once: true });
  });
}
