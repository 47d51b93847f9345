import type { ClaimedDelivery } from './deliveries.service.js';

/** Deliveries under way to one webhook, in this process (D29). */
const SEND_CONCURRENCY = 4;
/**
 * Claimed at a time while the endpoint is fast: what it is sent then may have been claimed a fifth of a second before,
 * as if it were under way since. A slow one is claimed for as it gets free.
 */
const CLAIM_AHEAD = 16;
const FAST_MS = 50;
/** What has waited for longer goes back: an attempt must not outlast its lease. */
const STALE_MS = 3000;

/** What a lane needs of the others; none of it throws, but for `claim`. */
interface SendLoopCallbacks {
  claim: (count: number) => Promise<ClaimedDelivery[]>;
  deliver: (delivery: ClaimedDelivery) => Promise<void>;
  release: (delivery: ClaimedDelivery) => Promise<void>;
}

/** Sends the deliveries of one webhook, a few at a time, until none is due. */
export class WebhookSendLoop {
  private readonly bell = new Signal();
  private readonly underWay = new Set<Promise<void>>();
  private ahead: ClaimedDelivery[] = [];
  private claimedAt = 0;
  /** By the attempt that ended last. */
  private isFast = false;
  private isOpen = true;

  constructor(private readonly work: SendLoopCallbacks) {}

  /** Something may be due. */
  ring(): void {
    this.bell.ring();
  }

  /** Begins nothing more. */
  close(): void {
    this.isOpen = false;
    this.bell.ring();
  }

  /** Ends when it is closed, or when a look that began after the last ring found nothing: no ring is ever missed. */
  async serve(): Promise<void> {
    try {
      while (this.isOpen) {
        this.bell.reset();
        const found = await this.look();
        this.begin();
        if (this.underWay.size === SEND_CONCURRENCY) await Promise.race(this.underWay);
        else if (this.underWay.size > 0) await this.bell.waitOr(this.underWay);
        else if (found === 0 && !this.bell.hasRung) break;
      }
    } finally {
      await Promise.all([...this.underWay, this.releaseAll()]);
    }
  }

  /** @returns how many are in hand. */
  private async look(): Promise<number> {
    if (this.ahead.length > 0 && Date.now() - this.claimedAt > STALE_MS) await this.releaseAll();
    if (this.ahead.length === 0) {
      this.claimedAt = Date.now();
      this.ahead = await this.work.claim(this.isFast ? CLAIM_AHEAD : SEND_CONCURRENCY - this.underWay.size);
    }
    return this.ahead.length;
  }

  private async releaseAll(): Promise<void> {
    const untouched = this.ahead;
    this.ahead = [];
    await Promise.all(untouched.map((delivery) => this.work.release(delivery)));
  }

  private begin(): void {
    while (this.isOpen && this.underWay.size < SEND_CONCURRENCY) {
      const next = this.ahead.shift();
      if (!next) return;
      const startedAt = performance.now();
      const attempt = this.work.deliver(next).finally(() => {
        this.underWay.delete(attempt);
        this.isFast = performance.now() - startedAt <= FAST_MS;
      });
      this.underWay.add(attempt);
    }
  }
}

/** Wakes a lane that waits; a ring between `reset` and the wait counts. */
class Signal {
  /** Since the last `reset`. */
  hasRung = false;
  private wake: () => void = () => undefined;
  private rung: Promise<void> = Promise.resolve();

  ring(): void {
    this.hasRung = true;
    this.wake();
  }

  reset(): void {
    this.hasRung = false;
    this.rung = new Promise((resolve) => {
      this.wake = resolve;
    });
  }

  async waitOr(others: Iterable<Promise<void>>): Promise<void> {
    await Promise.race([this.rung, ...others]);
  }
}
