import type { ClaimedDelivery } from '../deliveries/deliveries.queries.js';
import type { DeliverySlots, Destination, Slot } from './delivery-slots.js';

/** Concurrent deliveries to one webhook in this process (D29). */
const SEND_CONCURRENCY = 4;
/** After a failed attempt, until one succeeds. */
const FAILING_CONCURRENCY = 1;

/** Only `claim` may throw. */
interface SendLoopCallbacks {
  claim: (count: number) => Promise<ClaimedDelivery[]>;
  /** @returns whether it was accepted. */
  deliver: (delivery: ClaimedDelivery) => Promise<boolean>;
  release: (delivery: ClaimedDelivery) => Promise<void>;
}

/** Sends the due deliveries of one webhook, a few at a time, until none is left. Each attempt holds a slot. */
export class WebhookSendLoop {
  private readonly wakeUp = new Signal();
  private readonly inProgress = new Set<Promise<void>>();
  private readonly claims: ClaimAhead;
  private readonly closing = new AbortController();
  /** Where the last claimed delivery goes. */
  private destination: Destination | null = null;
  /** Slots for deliveries that are not claimed yet. */
  private reserved: Slot[] = [];
  /** Duration of the attempt that ended last. */
  private lastAttemptMs = Infinity;

  constructor(
    private readonly callbacks: SendLoopCallbacks,
    private readonly slots: DeliverySlots,
  ) {
    this.claims = new ClaimAhead(callbacks);
  }

  /** Deliveries may be due. */
  signal(): void {
    this.wakeUp.set();
  }

  /** Starts no more deliveries. */
  close(): void {
    this.closing.abort();
    this.wakeUp.set();
  }

  /** Resolves once closed, or when a claim made after the last signal found nothing, so that no signal is lost. */
  async run(): Promise<void> {
    try {
      while (this.isOpen) {
        this.wakeUp.reset();
        const count = this.reserve();
        if (count === 0) {
          await this.waitForRoom();
          continue;
        }
        const found = await this.startDue(count);
        if (this.room === 0) await Promise.race(this.inProgress);
        else if (this.inProgress.size > 0) await this.wakeUp.waitOr(this.inProgress);
        else if (found === 0 && !this.wakeUp.isSet) break;
      }
    } finally {
      this.returnReserved();
      await Promise.all([...this.inProgress, this.claims.take(0, this.lastAttemptMs)]);
    }
  }

  private get isOpen(): boolean {
    return !this.closing.signal.aborted;
  }

  private get room(): number {
    const limit = this.destination?.isFailing ? FAILING_CONCURRENCY : SEND_CONCURRENCY;
    return Math.max(0, limit - this.inProgress.size);
  }

  /** Takes slots for what can be sent. The destination is not known before the first claim, which comes without. */
  private reserve(): number {
    const { destination, room } = this;
    if (!destination) return room;
    while (this.reserved.length < room) {
      const slot = this.slots.take(destination);
      if (!slot) break;
      this.reserved.push(slot);
    }
    return Math.min(this.reserved.length, room);
  }

  /** Until an attempt of its own ends, or else until it gets a slot. What was claimed ahead must not wait meanwhile. */
  private async waitForRoom(): Promise<void> {
    await this.claims.take(0, this.lastAttemptMs);
    if (this.inProgress.size > 0) return await Promise.race(this.inProgress);
    const slot = await this.slots.wait(this.destination as Destination, this.closing.signal);
    if (slot) this.reserved.push(slot);
  }

  /** @returns the number of deliveries that were due. */
  private async startDue(count: number): Promise<number> {
    const deliveries = await this.claims.take(count, this.lastAttemptMs);
    const withoutSlot = deliveries.filter((delivery) => !this.start(delivery));
    this.returnReserved();
    await Promise.all(withoutSlot.map((delivery) => this.callbacks.release(delivery)));
    return deliveries.length;
  }

  private start(delivery: ClaimedDelivery): boolean {
    this.destination = destinationOf(delivery);
    // It may have been closed during the claim.
    const slot = this.isOpen ? (this.reserved.shift() ?? this.slots.take(this.destination)) : null;
    if (!slot) return false;
    const attempt = this.process(delivery).finally(() => {
      slot.release();
      this.inProgress.delete(attempt);
    });
    this.inProgress.add(attempt);
    return true;
  }

  private async process(delivery: ClaimedDelivery): Promise<void> {
    const startedAt = performance.now();
    const isAccepted = await this.callbacks.deliver(delivery);
    this.lastAttemptMs = performance.now() - startedAt;
    if (this.destination) this.destination.isFailing = !isAccepted;
  }

  private returnReserved(): void {
    for (const slot of this.reserved.splice(0)) slot.release();
  }
}

function destinationOf({ accountId, url, webhookIsFailing: isFailing }: ClaimedDelivery): Destination {
  return { accountId, host: new URL(url).hostname, isFailing };
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

/** Deliveries claimed at a time while the endpoint is fast. */
const CLAIM_AHEAD = 16;
const FAST_MS = 50;
/** Claimed deliveries that waited longer are released, because an attempt must end before its lease. */
const MAX_WAIT_MS = 3000;

/**
 * Claims the due deliveries of one webhook: many at a time while its last answer was fast, and otherwise only what can
 * be sent at once. A claim of 16 takes 125 µs CPU for each delivery, one of 4 takes 440 µs (docs/performance.md). Held by
 * send-loops.service.spec.ts.
 */
export class ClaimAhead {
  private claimed: ClaimedDelivery[] = [];
  private claimedAt = 0;

  constructor(private readonly callbacks: Pick<SendLoopCallbacks, 'claim' | 'release'>) {}

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
