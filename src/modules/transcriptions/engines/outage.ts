/** Waits between two tries, in seconds: as long as the outage has lasted, within these bounds. */
const MIN_SECONDS = 5;
const MAX_SECONDS = 300;

/**
 * Something that all recordings need does not work, such as the quota of an engine. It lasts until the next success. What
 * fails meanwhile is tried again when its wait is over, and is no fault of the recording.
 */
export class Outage {
  private since: number | null = null;
  private retryAt = 0;
  private cause: string | null = null;

  /** @returns the wait in seconds. */
  fail(cause: string): number {
    const now = Date.now();
    this.since ??= now;
    this.cause = cause;
    // Failures of recordings that were tried together do not add up.
    if (now >= this.retryAt) {
      const seconds = Math.min(Math.max((now - this.since) / 1000, MIN_SECONDS), MAX_SECONDS);
      this.retryAt = now + seconds * 1000;
    }
    return Math.ceil((this.retryAt - now) / 1000);
  }

  end(): void {
    this.since = null;
    this.retryAt = 0;
    this.cause = null;
  }

  /** What is wrong; null when nothing is known to be. */
  get problem(): string | null {
    return this.cause;
  }

  /** The same, but null once it is time to try again. */
  get waitsFor(): string | null {
    return Date.now() < this.retryAt ? this.cause : null;
  }

  /** Seconds until then; 0 when nothing is waited for. */
  get waitSeconds(): number {
    return Math.max(0, Math.ceil((this.retryAt - Date.now()) / 1000));
  }
}
