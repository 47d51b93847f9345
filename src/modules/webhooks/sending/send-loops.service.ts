import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Counter, type Gauge, Registry } from 'prom-client';
import { retryWhileUnavailable } from '../../../platform/database/unavailable.js';
import { valueGauge } from '../../../platform/observability/metrics.js';
import { ConcurrencyLimit } from '../../../platform/concurrency/concurrency-limit.js';
import { ReconcilerService } from '../../../platform/queue/reconciler.service.js';
import { SignedSenderService } from './signed-sender.service.js';
import { type DeliveryOutcome, isSuccess } from './webhook-sender.service.js';
import type { ClaimedDelivery } from '../deliveries/deliveries.queries.js';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { DeliverySlots } from './delivery-slots.js';
import { WebhookSendLoop } from './webhook-send-loop.js';

/** Webhooks served at the same time. Most of so many would wait for a slot, which bounds the sockets of the process. */
const MAX_SEND_LOOPS = 10_000;
/** Claims at the same time: less than half of the connections to Postgres. */
const MAX_CLAIMS = 8;
/** A timer wakes the loop for a next attempt that is sooner. A later one, and one of too many, is found in Postgres. */
const MAX_TIMER_MS = 600_000;
/** An endpoint that refuses a large backlog would leave one for each of its deliveries. */
const MAX_TIMERS = 10_000;
/** On shutdown deliveries in progress have this long to finish. */
const SHUTDOWN_MS = 5000;

/**
 * Runs one send loop for each webhook with due deliveries, so that a slow or dead endpoint delays no other webhook. A job
 * or a timer wakes a loop within milliseconds. Both may get lost, so every deliverer also looks in Postgres for due
 * deliveries, every RECONCILE_SECONDS.
 */
@Injectable()
export class SendLoopsService implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger(SendLoopsService.name);
  private readonly loops = new Map<string, { loop: WebhookSendLoop; ended: Promise<void> }>();
  private readonly stopping = new AbortController();
  private readonly claims = new ConcurrencyLimit(MAX_CLAIMS);
  private readonly attempts = new Counter({
    name: 'webhook_attempts_total',
    help: 'Attempts to deliver that have ended, by the class of the HTTP status or the error (D39).',
    labelNames: ['outcome'],
    registers: [],
  });
  private accepting = true;
  private timers = 0;

  constructor(
    private readonly deliveries: DeliveriesService,
    private readonly sender: SignedSenderService,
    private readonly slots: DeliverySlots,
    private readonly reconciler: ReconcilerService,
    registry: Registry,
  ) {
    for (const metric of [this.attempts, ...gaugesOf(this.slots)]) registry.registerMetric(metric);
  }

  onModuleInit(): void {
    this.reconciler.register('send due deliveries', () => this.wakeDue(), { everyProcess: true });
  }

  /** Starts or signals the webhook's loop. Above the limit it does nothing: a later look in Postgres finds the webhook. */
  wake(webhookId: string): void {
    const running = this.loops.get(webhookId);
    if (running) running.loop.signal();
    else if (this.accepting && this.loops.size < MAX_SEND_LOOPS) this.start(webhookId);
  }

  /** The first hook of a shutdown: deliveries finish or are released while Postgres is still connected. */
  async onModuleDestroy(): Promise<void> {
    this.accepting = false;
    for (const { loop } of this.loops.values()) loop.close();
    const allEnded = Promise.allSettled([...this.loops.values()].map(({ ended }) => ended));
    await Promise.race([allEnded, delay(SHUTDOWN_MS, null, { ref: false })]);
    this.stopping.abort();
    await allEnded;
  }

  private async wakeDue(): Promise<void> {
    for (const webhookId of await this.deliveries.webhooksWithDue()) this.wake(webhookId);
  }

  private wakeIn(webhookId: string, delayMs: number | null): void {
    if (delayMs === null || delayMs >= MAX_TIMER_MS || this.timers >= MAX_TIMERS) return;
    this.timers += 1;
    setTimeout(() => {
      this.timers -= 1;
      this.wake(webhookId);
    }, delayMs).unref();
  }

  private start(webhookId: string): void {
    const callbacks = {
      claim: (count: number) => this.claims.run(() => this.deliveries.claim(webhookId, count)),
      deliver: (delivery: ClaimedDelivery) => this.deliver(delivery),
      release: (delivery: ClaimedDelivery) => this.save(delivery, () => this.deliveries.release(delivery)),
    };
    const loop = new WebhookSendLoop(callbacks, this.slots);
    const ended = loop
      .run()
      .catch((error: unknown) => this.logger.warn({ err: error, webhook_id: webhookId }, 'webhook send loop crashed'))
      .finally(() => this.loops.delete(webhookId));
    this.loops.set(webhookId, { loop, ended });
  }

  /** @returns whether the receiver accepted it. */
  private async deliver(delivery: ClaimedDelivery): Promise<boolean> {
    const startedAt = performance.now();
    const outcome = await this.sender.send(delivery, this.stopping.signal);
    const wasCancelled = this.stopping.signal.aborted && outcome.status === null;
    if (!wasCancelled) this.attempts.inc({ outcome: nameOf(outcome) });
    await this.save(delivery, async () => {
      if (wasCancelled) await this.deliveries.release(delivery);
      else this.wakeIn(delivery.webhookId, await this.deliveries.record(delivery, outcome, startedAt));
    });
    return isSuccess(outcome);
  }

  private async save({ id }: ClaimedDelivery, write: () => Promise<void>): Promise<void> {
    try {
      await retryWhileUnavailable(write, { signal: this.stopping.signal });
    } catch (error) {
      // It will be sent again: at-least-once delivery.
      this.logger.warn({ err: error, delivery_id: id }, 'delivery outcome not saved');
    }
  }
}

const nameOf = ({ status, errorKind }: DeliveryOutcome): string =>
  status === null ? `${errorKind}` : `${Math.floor(status / 100)}xx`;

function gaugesOf(slots: DeliverySlots): Gauge[] {
  const waiting = 'Webhooks with due deliveries that wait for a free connection (D34).';
  return [
    valueGauge('webhook_connections', 'Deliveries that this process is sending.', () => slots.used),
    valueGauge('webhooks_waiting', waiting, () => slots.waiting),
  ];
}
