const MIN_SECONDS = 5;
const MAX_SECONDS = 300;

/**
 * Stands before something that all recordings need, such as an engine or the storage. It opens when that fails for all of
 * them, and closes with the next success. What fails meanwhile is tried again when the wait is over, and is no fault of
 * the recording.
 */
export class CircuitBreaker {
  private since: number | null = null;
  private retryAt = 0;
  private failure: string | null = null;
  private trials = 0;

  /** @param minSeconds the first wait. Later ones are as long as it has been open, up to five minutes. */
  constructor(private readonly minSeconds = MIN_SECONDS) {}

  /** @returns the wait in seconds */
  open(cause: string): number {
    const now = Date.now();
    this.since ??= now;
    this.failure = cause;
    // Failures of what was tried together do not add up.
    if (now >= this.retryAt) {
      const seconds = Math.min(Math.max((now - this.since) / 1000, this.minSeconds), MAX_SECONDS);
      this.retryAt = now + seconds * 1000;
    }
    return Math.ceil((this.retryAt - now) / 1000);
  }

  close(): void {
    this.since = null;
    this.retryAt = 0;
    this.failure = null;
  }

  /** Why it was opened; null since the last success. */
  get cause(): string | null {
    return this.failure;
  }

  /** The cause while nothing may be tried; null once it is time to try again. */
  get refusal(): string | null {
    return Date.now() < this.retryAt ? this.failure : null;
  }

  /** Seconds until then; 0 when nothing is waited for. */
  get waitSeconds(): number {
    return Math.max(0, Math.ceil((this.retryAt - Date.now()) / 1000));
  }

  /** Whether somebody tries already whether it works again: one at a time is enough. */
  get isOnTrial(): boolean {
    return this.failure !== null && this.trials > 0;
  }

  /** Runs a task, which is a trial if there was no success since the last failure. */
  async try<T>(task: () => Promise<T>): Promise<T> {
    const isTrial = this.failure !== null;
    if (isTrial) this.trials++;
    try {
      return await task();
    } finally {
      if (isTrial) this.trials--;
    }
  }
}
