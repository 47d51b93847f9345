/** Recordings of an account that no engine of this process can transcribe for a while. */
export interface PostponedRecordings {
  accountId: string;
  /** What decides on their engines, or null: those that any engine may have. */
  spoken: string | null;
  /** These, and longer ones. */
  minDurationMs: number;
}

/** Beyond this the oldest are forgotten: a claim finds out again. */
const MAX_ENTRIES = 500;

/**
 * What this process does not claim for a while, because it would only give it back. Another process may have an engine for
 * it, so that nothing of this is written down.
 */
export class Postponements {
  private readonly entries = new Map<string, PostponedRecordings & { until: number }>();

  add(postponed: PostponedRecordings, seconds: number): void {
    const key = `${postponed.accountId} ${postponed.spoken ?? ''}`;
    const known = this.current.find(({ accountId, spoken }) => key === `${accountId} ${spoken ?? ''}`);
    const minDurationMs = Math.min(known?.minDurationMs ?? Infinity, postponed.minDurationMs);
    this.entries.delete(key);
    this.entries.set(key, { ...postponed, minDurationMs, until: Date.now() + seconds * 1000 });
    const [oldest] = this.entries.keys();
    if (this.entries.size > MAX_ENTRIES && oldest !== undefined) this.entries.delete(oldest);
  }

  get current(): PostponedRecordings[] {
    const now = Date.now();
    for (const [key, { until }] of this.entries) if (until <= now) this.entries.delete(key);
    return [...this.entries.values()];
  }
}
