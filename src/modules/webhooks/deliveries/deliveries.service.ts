import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { ArrayContains, IsNull, Not, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import type { WebhookEvent } from '../events/webhook-event.entity.js';
import { type DeliveryOutcome, isSuccess } from '../sending/webhook-sender.service.js';
import { Webhook } from '../webhook.entity.js';
import {
  claimDueDeliveries,
  type ClaimedDelivery,
  disabledWebhooksWithPending,
  webhooksWithDueDeliveries,
} from './deliveries.queries.js';
import { DELIVERY_QUEUE, type DeliveryJob } from './deliveries.queue.js';
import { Delivery } from './delivery.entity.js';
import { DeliverySuccessBatch } from './delivery-success-batch.js';
import { nextAttempt } from './retry-schedule.js';

/** A webhook that failed at least this often, and for this long without a success, is disabled (D29). */
const MAX_CONSECUTIVE_FAILURES = 10;
const MAX_FAILING_MS = 5 * 86_400_000;
/** The receiver asks for no more deliveries. */
const GONE = 410;
/** A delayed job is enqueued for attempts this near. The reconciler enqueues the later ones. */
const MAX_JOB_DELAY_MS = 600_000;

/** The life cycle of a delivery: pending, then delivered or failed. Every step is a conditional update. */
@Injectable()
export class DeliveriesService {
  private readonly successes: DeliverySuccessBatch;

  constructor(
    @InjectRepository(Delivery) private readonly deliveries: Repository<Delivery>,
    @InjectRepository(Webhook) private readonly webhooks: Repository<Webhook>,
    private readonly database: DatabaseService,
    @InjectQueue(DELIVERY_QUEUE) private readonly jobs: JobQueue<DeliveryJob>,
    private readonly env: Env,
  ) {
    this.successes = new DeliverySuccessBatch(database);
  }

  /** Inserts a delivery for each webhook that is active and subscribed now. */
  async fanOut(tx: Tx, event: Pick<WebhookEvent, 'id' | 'accountId' | 'kind' | 'createdAt'>): Promise<void> {
    const { accountId, id: eventId, createdAt } = event;
    const webhooks = await tx.manager.find(Webhook, {
      select: { id: true },
      where: { accountId, status: 'active', events: ArrayContains([event.kind]) },
      // Blocks the deletion of a webhook until the commit, and nothing else.
      lock: { mode: 'for_key_share' },
    });
    if (webhooks.length === 0) return;
    await tx.manager.insert(
      Delivery,
      webhooks.map(({ id: webhookId }) => ({
        id: uuidv7(),
        accountId,
        eventId,
        webhookId,
        status: 'pending' as const,
        nextAttemptAt: createdAt,
        createdAt,
        updatedAt: createdAt,
      })),
    );
    tx.afterCommit(() => {
      for (const { id: webhookId } of webhooks) void this.jobs.enqueue({ webhookId }, { deduplicationKey: eventId });
    });
  }

  /** Leases up to `count` due deliveries of a webhook, the longest due first. */
  async claim(webhookId: string, count: number): Promise<ClaimedDelivery[]> {
    return await claimDueDeliveries(this.database, webhookId, count);
  }

  /** Saves the outcome of an attempt. A delivery whose lease is lost, or that was deleted, is left unchanged. */
  async record(delivery: ClaimedDelivery, outcome: DeliveryOutcome): Promise<void> {
    if (outcome.status !== null && isSuccess(outcome.status)) {
      await this.succeed(delivery, outcome);
    } else {
      await this.fail(delivery, outcome);
    }
  }

  /** Releases a claimed delivery that was not attempted, for example at shutdown. */
  async release({ id, leaseToken }: ClaimedDelivery): Promise<void> {
    await this.deliveries.update(
      { id, leaseToken, status: 'pending' },
      { leaseToken: null, leaseUntil: null, attempts: () => 'attempts - 1' },
    );
  }

  /** Fails the pending deliveries of a webhook that is disabled. They can be redelivered later. */
  async failPending(tx: Tx, webhookId: string): Promise<void> {
    await tx.manager.update(
      Delivery,
      { webhookId, status: 'pending' },
      {
        status: 'failed',
        nextAttemptAt: null,
        lastError: 'webhook disabled',
        leaseToken: null,
        leaseUntil: null,
        updatedAt: () => 'now()',
      },
    );
  }

  /** Active webhooks with due deliveries that no process is sending. */
  async webhooksWithDue(): Promise<string[]> {
    return await webhooksWithDueDeliveries(this.database);
  }

  /** Fails deliveries that were inserted while their webhook was being disabled. */
  async failOrphaned(): Promise<void> {
    for (const id of await disabledWebhooksWithPending(this.database)) {
      await this.database.transact((tx) => this.failPending(tx, id));
    }
  }

  private async succeed(delivery: ClaimedDelivery, { status, durationMs }: DeliveryOutcome): Promise<void> {
    const { id, leaseToken, webhookId, webhookIsFailing } = delivery;
    // First, because the delivery is sent again if the process dies before this commit.
    await this.successes.save({ id, leaseToken, status, durationMs });
    if (!webhookIsFailing) return;
    // A statement of its own, so that each has one row to lock: see `fail`.
    await this.webhooks.update(
      { id: webhookId, failingSince: Not(IsNull()) },
      { failingSince: null, consecutiveFailures: 0 },
    );
  }

  private async fail(delivery: ClaimedDelivery, outcome: DeliveryOutcome): Promise<void> {
    const { id, leaseToken, webhookId, attempt } = delivery;
    const { status, error, retryAfter, durationMs } = outcome;
    const schedule = this.env.webhookRetrySchedule;
    const nextAt = nextAttempt({ attempt, schedule, now: new Date(), retryAfter });
    await this.database.transact(async (tx) => {
      // Update and delete of a webhook lock it before its deliveries, too. Any other order could deadlock.
      const webhook = await tx.manager.findOne(Webhook, {
        where: { id: webhookId },
        lock: { mode: 'for_no_key_update' },
      });
      const { affected } = await tx.manager.update(
        Delivery,
        { id, leaseToken, status: 'pending' },
        {
          status: nextAt ? 'pending' : 'failed',
          nextAttemptAt: nextAt,
          leaseToken: null,
          leaseUntil: null,
          lastStatus: status,
          lastError: error,
          lastDurationMs: durationMs,
          updatedAt: () => 'now()',
        },
      );
      if (!webhook || !affected) return;
      const disabled = await this.countFailure(tx, webhook, status);
      if (disabled) await this.failPending(tx, webhookId);
      else if (nextAt) tx.afterCommit(() => this.enqueueAt(webhookId, nextAt));
    });
  }

  /** @param webhook locked by `tx`. @returns whether this failure disabled the webhook. */
  private async countFailure(tx: Tx, webhook: Webhook, status: number | null): Promise<boolean> {
    const consecutiveFailures = webhook.consecutiveFailures + 1;
    const failingMs = webhook.failingSince ? Date.now() - webhook.failingSince.getTime() : 0;
    const isHopeless = consecutiveFailures >= MAX_CONSECUTIVE_FAILURES && failingMs > MAX_FAILING_MS;
    const disabled = webhook.status === 'active' && (status === GONE || isHopeless);
    await tx.manager.update(
      Webhook,
      { id: webhook.id },
      {
        consecutiveFailures,
        ...(!webhook.failingSince && { failingSince: () => 'now()' }),
        ...(disabled && { status: 'disabled' as const, updatedAt: () => 'now()' }),
      },
    );
    return disabled;
  }

  private enqueueAt(webhookId: string, time: Date): void {
    const delayMs = time.getTime() - Date.now();
    if (delayMs < MAX_JOB_DELAY_MS) {
      void this.jobs.enqueue({ webhookId }, { deduplicationKey: time.getTime(), delayMs });
    }
  }
}
