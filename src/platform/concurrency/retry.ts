import { setTimeout as delay } from 'node:timers/promises';

/**
 * Repeats `work`, which must be idempotent, until it succeeds.
 * @param waitMs how long to wait after this failure of the attempt, 1 for the first; null when another is of no use.
 * @throws the error after which `waitMs` gave null, what `waitMs` throws, and the signal's reason when it is aborted.
 */
export async function retry<T>(
  work: () => Promise<T>,
  waitMs: (error: unknown, attempt: number) => number | null,
  signal?: AbortSignal,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const ms = waitMs(error, attempt);
      if (ms === null) throw error;
      await pause(ms, signal);
    }
  }
}

/** @throws the signal's reason when it is aborted: the timer itself would throw an error of its own. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, signal && { signal }).catch(() => undefined);
  signal?.throwIfAborted();
}
