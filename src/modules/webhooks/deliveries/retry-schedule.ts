import { parseRetryAfter } from '../../../platform/http/retry-after.js';

interface FailedAttempt {
  /** Number of the attempt that has just failed, from 1. */
  attempt: number;
  /** Gaps between attempts in seconds: n gaps make n + 1 attempts. */
  schedule: readonly number[];
  now: Date;
  /** `Retry-After` of a 429 or 503 response, else null. */
  retryAfter: string | null;
  /** From 0 up to but not including 1. */
  random?: () => number;
}

/** Spreads retries of deliveries that failed together. */
const JITTER = 0.2;
/** A receiver can delay the next attempt by at most an hour. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * Milliseconds until the next attempt: the next gap of the schedule, with jitter, or what the receiver asked for,
 * whichever is longer. Null when no attempts are left. A delay, because only Postgres tells the time.
 */
export function delayOfNextAttempt(failed: FailedAttempt): number | null {
  const { attempt, schedule, now, retryAfter, random = Math.random } = failed;
  const gapSeconds = schedule[attempt - 1];
  if (gapSeconds === undefined) return null;
  const gapMs = gapSeconds * 1000 * (1 - JITTER + 2 * JITTER * random());
  const askedMs = Math.min(parseRetryAfter(retryAfter, now) ?? 0, MAX_RETRY_AFTER_MS);
  return Math.round(Math.max(gapMs, askedMs));
}
