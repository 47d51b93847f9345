interface FailedAttempt {
  /** Number of the attempt that has just failed, from 1. */
  attempt: number;
  /** Gaps between attempts in seconds: n gaps make n + 1 attempts. */
  schedule: readonly number[];
  now: Date;
  /** The receiver's `Retry-After`, where its answer asks for one to be heeded; else null. */
  retryAfter: string | null;
  /** From 0 up to but not including 1. */
  random?: () => number;
}

/** Spreads the deliveries that failed together, so that a receiver does not come back to all of them at once. */
const JITTER = 0.2;
/** A receiver may slow us down, but not park a delivery for good. */
const MAX_RETRY_AFTER_MS = 3_600_000;
/** The only form of an HTTP date that senders may still produce (RFC 9110 §5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * When to try again: the next gap of the schedule with its jitter, or the time that the receiver asked for (at most an
 * hour away) when that is later. Null when the attempts are used up.
 */
export function nextAttempt(failed: FailedAttempt): Date | null {
  const { attempt, schedule, now, retryAfter, random = Math.random } = failed;
  const gapSeconds = schedule[attempt - 1];
  if (gapSeconds === undefined) return null;
  const gapMs = gapSeconds * 1000 * (1 - JITTER + 2 * JITTER * random());
  const askedMs = Math.min(askedDelayMs(retryAfter, now), MAX_RETRY_AFTER_MS);
  return new Date(now.getTime() + Math.max(gapMs, askedMs));
}

/** `Retry-After` is a number of seconds or an HTTP date (RFC 9110 §10.2.3); anything else counts as absent. */
function askedDelayMs(retryAfter: string | null, now: Date): number {
  const value = retryAfter?.trim() ?? '';
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  if (HTTP_DATE.test(value)) return Date.parse(value) - now.getTime() || 0;
  return 0;
}
