import { ClaimAhead } from './claim-ahead.js';
import type { ClaimedDelivery } from './deliveries.queries.js';

/** Concurrent deliveries to one webhook in this process (D29). */
const SEND_CONCURRENCY = 4;

/** Only `claim` may throw. */
interface SendLoopCallbacks {
  claim: (count: number) => Promise<ClaimedDelivery[]>;
  deliver: (delivery: ClaimedDelivery) => Promise<void>;
  release: (delivery: ClaimedDelivery) => Promise<void>;
}

/** Sends the due deliveries of one webhook, a few at a time, until none is left. */
export class WebhookSendLoop {
  private readonly wakeUp = new Signal();
  private readonly inProgress = new Set<Promise<void>>();
  private readonly claims: ClaimAhead;
  /** Duration of the attempt that ended last. */
  private lastAttemptMs = Infinity;
  private isOpen = true;

  constructor(private readonly callbacks: SendLoopCallbacks) {
    this.claims = new ClaimAhead(callbacks);
  }

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
        const deliveries = await this.claims.take(SEND_CONCURRENCY - this.inProgress.size, this.lastAttemptMs);
        for (const delivery of deliveries) this.start(delivery);
        if (this.inProgress.size === SEND_CONCURRENCY) await Promise.race(this.inProgress);
        else if (this.inProgress.size > 0) await this.wakeUp.waitOr(this.inProgress);
        else if (!this.wakeUp.isSet) break;
      }
    } finally {
      await Promise.all([...this.inProgress, this.claims.take(0, this.lastAttemptMs)]);
    }
  }

  private start(delivery: ClaimedDelivery): void {
    const attempt = this.process(delivery).finally(() => this.inProgress.delete(attempt));
    this.inProgress.add(attempt);
  }

  private async process(delivery: ClaimedDelivery): Promise<void> {
    // Closed during the claim.
    if (!this.isOpen) return await this.callbacks.release(delivery);
    const startedAt = performance.now();
    await this.callbacks.deliver(delivery);
    this.lastAttemptMs = performance.now() - startedAt;
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
