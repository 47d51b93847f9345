import type { ClaimedDelivery } from './deliveries.queries.js';

/** Concurrent deliveries to one webhook in this process (D29). */
const SEND_CONCURRENCY = 4;
/** Deliveries claimed at a time while the endpoint is fast. */
const CLAIM_AHEAD = 16;
const FAST_MS = 50;
/** Claimed deliveries that waited longer are released, because an attempt must end before its lease. */
const MAX_WAIT_MS = 3000;

/** Only `claim` may throw. */
interface SendLoopCallbacks {
  claim: (count: number) => Promise<ClaimedDelivery[]>;
  deliver: (delivery: ClaimedDelivery) => Promise<void>;
  release: (delivery: ClaimedDelivery) => Promise<void>;
}

/**
 * Sends the due deliveries of one webhook, a few at a time, until none is left. It claims ahead for an endpoint whose
 * last answer was fast, and otherwise only what it can send at once. With `DeliverySuccessBatch` this raised deliveries
 * from 880 to 1,950 a second (docs/performance.md). Held by send-loops.service.spec.ts.
 */
export class WebhookSendLoop {
  private readonly wakeUp = new Signal();
  private readonly inProgress = new Set<Promise<void>>();
  private claimed: ClaimedDelivery[] = [];
  private claimedAt = 0;
  /** Of the attempt that ended last. */
  private isFast = false;
  private isOpen = true;

  constructor(private readonly callbacks: SendLoopCallbacks) {}

  /** Deliveries may be due. */
  signal(): void {
    this.wakeUp.set();
  }

  /** Starts no more deliveries. */
  close(): void {
    this.isOpen = false;
    this.wakeUp.set();
  }

  /** Resolves once closed, or when a claim made after the last signal found nothing, so that no signal is lost. */
  async run(): Promise<void> {
    try {
      while (this.isOpen) {
        this.wakeUp.reset();
        const available = await this.claim();
        this.start();
        if (this.inProgress.size === SEND_CONCURRENCY) await Promise.race(this.inProgress);
        else if (this.inProgress.size > 0) await this.wakeUp.waitOr(this.inProgress);
        else if (available === 0 && !this.wakeUp.isSet) break;
      }
    } finally {
      await Promise.all([...this.inProgress, this.releaseAll()]);
    }
  }

  /** @returns the number of claimed deliveries that are not started yet. */
  private async claim(): Promise<number> {
    if (this.claimed.length > 0 && Date.now() - this.claimedAt > MAX_WAIT_MS) await this.releaseAll();
    if (this.claimed.length === 0) {
      this.claimedAt = Date.now();
      const count = this.isFast ? CLAIM_AHEAD : SEND_CONCURRENCY - this.inProgress.size;
      this.claimed = await this.callbacks.claim(count);
    }
    return this.claimed.length;
  }

  private async releaseAll(): Promise<void> {
    const unstarted = this.claimed;
    this.claimed = [];
    await Promise.all(unstarted.map((delivery) => this.callbacks.release(delivery)));
  }

  private start(): void {
    while (this.isOpen && this.inProgress.size < SEND_CONCURRENCY) {
      const next = this.claimed.shift();
      if (!next) return;
      const startedAt = performance.now();
      const attempt = this.callbacks.deliver(next).finally(() => {
        this.inProgress.delete(attempt);
        this.isFast = performance.now() - startedAt <= FAST_MS;
      });
      this.inProgress.add(attempt);
    }
  }
}

/** An event to wait for. Being set between `reset` and the wait counts. */
class Signal {
  /** Since the last `reset`. */
  isSet = false;
  private resolve: () => void = () => undefined;
  private wasSet: Promise<void> = Promise.resolve();

  set(): void {
    this.isSet = true;
    this.resolve();
  }

  reset(): void {
    this.isSet = false;
    this.wasSet = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  async waitOr(others: Iterable<Promise<void>>): Promise<void> {
    await Promise.race([this.wasSet, ...others]);
  }
}
