import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import { retryWhileUnavailable } from '../../../platform/database/unavailable.js';
import { repairsOf, addGauge } from '../../../platform/observability/metrics.js';
import { type SpanAttributes, traces } from '../../../platform/observability/traces/traces.js';
import { ConcurrencyLimit } from '../../../platform/concurrency/concurrency-limit.js';
import { sharedRun } from '../../../platform/concurrency/shared-run.js';
import { ReconcilerService } from '../../../platform/queue/reconciler.service.js';
import { SignedSenderService } from './signed-sender.service.js';
import { type DeliveryOutcome, isSuccess } from './webhook-sender.service.js';
import { type ClaimedDelivery, deliveryOf } from '../deliveries/deliveries.queries.js';
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
/** A first attempt is made so soon after its event. */
const FIRST_ATTEMPT_SECONDS = 5;
/** A job that has not woken a loop by then is lost. */
const JOB_SECONDS = 1;
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
  private readonly loops = new Map<string, { loop: WebhookSendLoop; ended: Promise<void>; isFound: boolean }>();
  private readonly stopping = new AbortController();
  private readonly claims = new ConcurrencyLimit(MAX_CLAIMS);
  private readonly attempts = new Counter({
    name: 'webhook_attempts_total',
    help: 'Attempts to deliver that have ended, by the class of the HTTP status or the error (D39).',
    labelNames: ['outcome'],
    registers: [],
  });
  private readonly firstAttempts = new Counter({
    name: 'webhook_first_attempts_total',
    help: 'First attempts to deliver an event to a webhook that is not failing.',
    registers: [],
  });
  private readonly firstOnTime = new Counter({
    name: 'webhook_first_attempts_on_time_total',
    help: 'Those of them that began within 5 s of the event.',
    registers: [],
  });
  private readonly repairs: Counter<'kind'>;
  private accepting = true;
  private timers = 0;

  constructor(
    private readonly deliveries: DeliveriesService,
    private readonly sender: SignedSenderService,
    private readonly slots: DeliverySlots,
    private readonly reconciler: ReconcilerService,
    registry: Registry,
  ) {
    for (const counter of [this.attempts, this.firstAttempts, this.firstOnTime]) registry.registerMetric(counter);
    addGauges(registry, deliveries, slots);
    this.repairs = repairsOf(registry);
  }

  onModuleInit(): void {
    this.reconciler.register('send due deliveries', () => this.wakeDue(), { everyProcess: true });
  }

  /**
   * Starts or signals the webhook's loop. Above the limit it does nothing: a later look in Postgres finds the webhook.
   * @param isFound by a look in Postgres, and not by a job or a timer.
   */
  wake(webhookId: string, isFound = false): void {
    const running = this.loops.get(webhookId);
    if (running) running.loop.signal();
    else if (this.accepting && this.loops.size < MAX_SEND_LOOPS) this.start(webhookId, isFound);
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
    for (const webhookId of await this.deliveries.webhooksWithDue()) this.wake(webhookId, true);
  }

  private wakeIn(webhookId: string, delayMs: number | null): void {
    if (delayMs === null || delayMs >= MAX_TIMER_MS || this.timers >= MAX_TIMERS) return;
    this.timers += 1;
    setTimeout(() => {
      this.timers -= 1;
      this.wake(webhookId);
    }, delayMs).unref();
  }

  private start(webhookId: string, isFound: boolean): void {
    const callbacks = {
      claim: (count: number) => this.claims.run(() => this.deliveries.claim(webhookId, count)),
      deliver: (delivery: ClaimedDelivery) =>
        traces.consume(deliveryOf({ ...delivery, id: delivery.eventId }), 'deliver', describeTraced(delivery), () =>
          this.deliver(delivery),
        ),
      release: (delivery: ClaimedDelivery) => this.save(delivery, () => this.deliveries.release(delivery)),
    };
    const loop = new WebhookSendLoop(callbacks, this.slots);
    // The timer of a delivery may have woken it.
    const ended = traces
      .outside(() => loop.run())
      .catch((error: unknown) => this.logger.warn({ err: error, webhook_id: webhookId }, 'webhook send loop crashed'))
      .finally(() => this.loops.delete(webhookId));
    this.loops.set(webhookId, { loop, ended, isFound });
  }

  /** @returns whether the receiver accepted it. */
  private async deliver(delivery: ClaimedDelivery): Promise<boolean> {
    this.countBegin(delivery);
    const startedAt = performance.now();
    const outcome = await this.sender.send(delivery, this.stopping.signal);
    traces.annotate({ 'http.response.status_code': outcome.status, 'error.type': outcome.errorKind });
    if (!isSuccess(outcome)) traces.fail(null);
    const wasCancelled = this.stopping.signal.aborted && outcome.status === null;
    if (outcome.isOurs) {
      // Until the next look for due deliveries: others of the webhook would fail as well.
      this.loops.get(delivery.webhookId)?.loop.close();
      await this.save(delivery, () => this.deliveries.release(delivery));
      return !delivery.webhookIsFailing;
    }
    if (!wasCancelled) this.attempts.inc({ outcome: nameOf(outcome) });
    await this.save(delivery, async () => {
      if (wasCancelled) await this.deliveries.release(delivery);
      else this.wakeIn(delivery.webhookId, await this.deliveries.record(delivery, outcome, startedAt));
    });
    return isSuccess(outcome);
  }

  /** What was claimed ahead has waited up to 3 s since. */
  private countBegin(delivery: ClaimedDelivery): void {
    const { webhookId, attempt, webhookIsFailing, isTakenOver } = delivery;
    if (isTakenOver) this.repairs.inc({ kind: 'delivery_taken_over' });
    if (attempt > 1 || webhookIsFailing) return;
    const seconds = delivery.dueSeconds + (performance.now() - delivery.claimedAt) / 1000;
    this.firstAttempts.inc();
    if (seconds <= FIRST_ATTEMPT_SECONDS) this.firstOnTime.inc();
    const running = this.loops.get(webhookId);
    if (!running?.isFound) return;
    running.isFound = false;
    if (seconds > JOB_SECONDS) this.repairs.inc({ kind: 'delivery_job_lost' });
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

const describeTraced = (delivery: ClaimedDelivery): SpanAttributes => ({
  'voice_notes.account.id': delivery.accountId,
  'voice_notes.recording.id': delivery.recordingId,
  'voice_notes.run': delivery.run,
  'voice_notes.event.id': delivery.eventId,
  'voice_notes.event.type': delivery.eventKind,
  'voice_notes.webhook.id': delivery.webhookId,
  'voice_notes.attempt': delivery.attempt,
});

const nameOf = ({ status, errorKind }: DeliveryOutcome): string =>
  status === null ? `${errorKind}` : `${Math.floor(status / 100)}xx`;

/** Of the longest wait, so that several that scrape cost no more than one. */
const KEPT_MS = 10_000;

function addGauges(registry: Registry, deliveries: DeliveriesService, slots: DeliverySlots): void {
  const overdue = 'How long the delivery has been due that waits for this service, not for its receiver, for longest.';
  const oldest = sharedRun(() => deliveries.oldestDueSeconds().catch(() => null), KEPT_MS);
  const waiting = 'Webhooks with due deliveries that wait for a free connection (D34).';
  addGauge(registry, 'webhook_connections', 'Deliveries that this process is sending.', () => slots.used);
  addGauge(registry, 'webhooks_waiting', waiting, () => slots.waiting);
  addGauge(registry, 'deliveries_waiting_seconds', overdue, oldest);
}
