import type { RateLimit } from 'vnotes';

const MINUTE_MS = 60_000;
/** In a pause so long the bucket wins more requests than one upload and the list after it take. */
const REQUESTS_OF_A_PAUSE = 2.5;
/** Large plans have room for everything. */
const MOST_KEPT = 10;

/** Requests that are left at `now`: the bucket fills by itself between two answers. */
export function remainingAt({ limit, remaining, reset }: RateLimit, now: number): number {
  const minutes = (reset.getTime() - now) / MINUTE_MS;
  const filled = minutes <= 0 ? limit : Math.floor(limit - minutes * limit);
  return Math.min(limit, Math.max(remaining, filled));
}

/**
 * When a request that nobody waits for may be sent, in milliseconds since 1970: what a person does next has the rest of
 * the bucket. It is not put off for ever: the pauses only become longer.
 * @param limit of the account; null before the first answer
 * @param share of the limit that is kept for people
 * @param last when the request before it was sent
 * @param underWay requests whose answer is not known yet
 */
export function backgroundTime(limit: RateLimit | null, share: number, last: number, underWay = 0): number {
  if (!limit) return 0;
  const now = Date.now();
  const kept = Math.min(MOST_KEPT, Math.ceil(limit.limit * share)) + underWay;
  if (remainingAt(limit, now) > kept) return 0;
  const filled = limit.reset.getTime() - ((limit.limit - kept - 1) / limit.limit) * MINUTE_MS;
  return Math.min(filled, last + (REQUESTS_OF_A_PAUSE / limit.limit) * MINUTE_MS);
}
