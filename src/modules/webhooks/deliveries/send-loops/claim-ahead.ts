import type { ClaimedDelivery } from '../deliveries.queries.js';

/** Deliveries claimed at a time while the endpoint is fast. */
const CLAIM_AHEAD = 16;
const FAST_MS = 50;
/** Claimed deliveries that waited longer are released, because an attempt must end before its lease. */
const MAX_WAIT_MS = 3000;

/** Only `claim` may throw. */
interface ClaimCallbacks {
  claim: (count: number) => Promise<ClaimedDelivery[]>;
  release: (delivery: ClaimedDelivery) => Promise<void>;
}

/**
 * Claims the due deliveries of one webhook: many at a time while its last answer was fast, and otherwise only what can
 * be sent at once. A claim of 16 takes 125 µs CPU for each delivery, one of 4 takes 440 µs (docs/performance.md). Held by
 * send-loops.service.spec.ts.
 */
export class ClaimAhead {
  private claimed: ClaimedDelivery[] = [];
  private claimedAt = 0;

  constructor(private readonly callbacks: ClaimCallbacks) {}

  /**
   * @param count that can be sent at once; 0 releases what was claimed ahead.
   * @param lastAttemptMs of the attempt that ended last.
   * @returns at most `count` deliveries; none when none was due.
   */
  async take(count: number, lastAttemptMs: number): Promise<ClaimedDelivery[]> {
    const isOver = count === 0 || Date.now() - this.claimedAt > MAX_WAIT_MS;
    if (isOver && this.claimed.length > 0) await this.releaseAll();
    if (count > 0 && this.claimed.length === 0) {
      this.claimedAt = Date.now();
      this.claimed = await this.callbacks.claim(lastAttemptMs <= FAST_MS ? CLAIM_AHEAD : count);
    }
    return this.claimed.splice(0, count);
  }

  private async releaseAll(): Promise<void> {
    await Promise.all(this.claimed.splice(0).map((delivery) => this.callbacks.release(delivery)));
  }
}
