import { pause } from '../../../../platform/concurrency/pause.js';
import { TransientSourceError } from './source-error.js';

/** Times in milliseconds. Tests shorten them. */
export interface DownloadTiming {
  connectMs: number;
  /** For the headers of a response, and between two parts of its body. */
  stallMs: number;
  /** The first pause after a failure; each next one is twice as long, up to `longestPauseMs`. */
  firstPauseMs: number;
  longestPauseMs: number;
  /** Longest pause that a source may ask for. */
  longestRetryAfterMs: number;
  /** Failures one after the other in which not a byte was received, the first included. */
  tries: number;
}

export const DOWNLOAD_TIMING: DownloadTiming = {
  connectMs: 15_000,
  stallMs: 30_000,
  firstPauseMs: 1000,
  longestPauseMs: 30_000,
  longestRetryAfterMs: 300_000,
  tries: 6,
};

/** Without any answer the first request is given up sooner: most likely there is no network. */
const UNREACHABLE_TRIES = 3;

interface RetryOptions {
  timing: DownloadTiming;
  signal: AbortSignal;
  onRetry: (error: TransientSourceError, pauseMs: number) => void;
}

/**
 * Repeats `work` after transient failures. `work` returns true once it is done, and false after progress: then the count
 * of failures starts again.
 * @throws the last error, or the signal's reason when it is aborted
 */
export async function retryTransient(
  work: () => Promise<boolean>,
  progress: () => number,
  { timing, signal, onRetry }: RetryOptions,
): Promise<void> {
  let failures = 0;
  for (let before = progress(); ;) {
    signal.throwIfAborted();
    try {
      if (await work()) return;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TransientSourceError)) throw error;
      const now = progress();
      failures = now > before ? 1 : failures + 1;
      before = now;
      const tries = error.isUnreachable && now === 0 ? Math.min(timing.tries, UNREACHABLE_TRIES) : timing.tries;
      if (failures >= tries) throw error;
      const pauseMs = pauseAfter(failures, error.retryAfterMs, timing);
      onRetry(error, pauseMs);
      await pause(pauseMs, signal);
    }
  }
}

function pauseAfter(failures: number, retryAfterMs: number | null, timing: DownloadTiming): number {
  if (retryAfterMs !== null) return Math.min(retryAfterMs, timing.longestRetryAfterMs);
  return Math.min(timing.firstPauseMs * 2 ** (failures - 1), timing.longestPauseMs);
}
