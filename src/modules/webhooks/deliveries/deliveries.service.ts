import { randomUUID } from 'node:crypto';
import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import type { WebhookEvent } from '../events/webhook-event.entity.js';
import { DELIVERY_QUEUE, type DeliveryJob } from './deliveries.queue.js';
import { Delivery } from './delivery.entity.js';
import { nextAttempt } from './retry-schedule.js';
import { DeliverySuccessBatch } from './delivery-success-batch.js';
import { type DeliveryOutcome, isSuccess } from '../sending/webhook-sender.service.js';

/** A delivery in our hands, with all that sending it takes. */
export interface ClaimedDelivery {
  id: string;
  leaseToken: string;
  webhookId: string;
  url: string;
  encryptedSecret: string;
  eventId: string;
  body: string;
  /** Number of this attempt, from 1. */
  attempt: number;
  /** Whether the webhook's last attempt failed, at the time of the claim. */
  webhookIsFailing: boolean;
}

/** More than the longest attempt: a delivery that is held longer belongs to a process that died. */
const LEASE_SECONDS = 30;
/** A webhook with nothing but failures for so long, and at least so many, is disabled (D29). */
const HOPELESS_DAYS = 5;
const HOPELESS_FAILURES = 10;
const GONE = 410;
/** A bell may be set for an attempt that is this near; the reconciler sees to the others. */
const NEAR_MS = 600_000;

/** The life of a delivery: pending until it is delivered or failed, every step a conditional update. */
@Injectable()
export class DeliveriesService {
  private readonly successes: DeliverySuccessBatch;

  constructor(
    private readonly database: DatabaseService,
    @InjectQueue(DELIVERY_QUEUE) private readonly jobs: JobQueue<DeliveryJob>,
    private readonly env: Env,
  ) {
    this.successes = new DeliverySuccessBatch(database);
  }

  /** One delivery for each webhook that is active and subscribed now. */
  async fanOut(tx: Tx, event: Pick<WebhookEvent, 'id' | 'accountId' | 'kind' | 'createdAt'>): Promise<void> {
    // The lock keeps a webhook from being deleted between here and the commit, and hinders nothing else.
    const webhooks = await tx.query<{ id: string }>(
      `SELECT id FROM webhooks WHERE account_id = $1 AND status = 'active' AND $2 = ANY (events) FOR KEY SHARE`,
      [event.accountId, event.kind],
    );
    if (webhooks.length === 0) return;
    const { accountId, id: eventId, createdAt } = event;
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

  /** Takes up to `count` due deliveries of a webhook, the longest due first. */
  async claim(webhookId: string, count: number): Promise<ClaimedDelivery[]> {
    return await this.database.prepared<ClaimedDelivery>(
      `WITH due AS MATERIALIZED (
         SELECT d.id FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id AND w.status = 'active'
         WHERE d.webhook_id = $1 AND d.status = 'pending' AND d.next_attempt_at <= now()
           AND (d.lease_until IS NULL OR d.lease_until < now())
         ORDER BY d.next_attempt_at LIMIT $2 FOR UPDATE OF d SKIP LOCKED)
       UPDATE deliveries d SET attempts = attempts + 1, last_attempt_at = now(), lease_token = $3,
         lease_until = now() + make_interval(secs => ${LEASE_SECONDS})
       FROM due, webhooks w, events e
       WHERE d.id = due.id AND w.id = d.webhook_id AND e.id = d.event_id
       RETURNING d.id, d.lease_token AS "leaseToken", d.webhook_id AS "webhookId", w.url,
         w.encrypted_secret AS "encryptedSecret", d.event_id AS "eventId", e.body, d.attempts AS attempt,
         w.failing_since IS NOT NULL AS "webhookIsFailing"`,
      [webhookId, count, randomUUID()],
    );
  }

  /** Writes down what an attempt came to. A delivery that is no longer ours, or gone, is left alone. */
  async record(delivery: ClaimedDelivery, outcome: DeliveryOutcome): Promise<void> {
    if (outcome.status !== null && isSuccess(outcome.status)) {
      await this.succeed(delivery, outcome);
    } else {
      await this.fail(delivery, outcome);
    }
  }

  /** Gives a delivery back untried, as when the process stops. */
  async release({ id, leaseToken }: ClaimedDelivery): Promise<void> {
    await this.database.query(
      `UPDATE deliveries SET lease_token = NULL, lease_until = NULL, attempts = attempts - 1
       WHERE id = $1 AND lease_token = $2 AND status = 'pending'`,
      [id, leaseToken],
    );
  }

  /** What is on its way to a webhook that is disabled will not be tried again; it can be sent once more later. */
  async failPending(tx: Tx, webhookId: string): Promise<void> {
    await tx.query(
      `UPDATE deliveries SET status = 'failed', next_attempt_at = NULL, last_error = 'webhook disabled',
         lease_token = NULL, lease_until = NULL, updated_at = now()
       WHERE webhook_id = $1 AND status = 'pending'`,
      [webhookId],
    );
  }

  /** Active webhooks with deliveries due that nobody is sending. */
  async webhooksWithDue(): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(
      `SELECT w.id FROM webhooks w WHERE w.status = 'active' AND EXISTS (
         SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.next_attempt_at <= now()
           AND (d.lease_until IS NULL OR d.lease_until < now()))`,
    );
    return rows.map((row) => row.id);
  }

  /** A delivery can come into being at the very moment in which its webhook is disabled. */
  async failOrphaned(): Promise<void> {
    const rows = await this.database.query<{ id: string }>(
      `SELECT DISTINCT w.id FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id AND d.status = 'pending'
       WHERE w.status = 'disabled'`,
    );
    for (const { id } of rows) await this.database.transact((tx) => this.failPending(tx, id));
  }

  /** Events past their retention, with their deliveries; not while one is still on its way. */
  async deleteOldEvents(): Promise<void> {
    await this.database.query(
      `DELETE FROM events WHERE id IN (
         SELECT e.id FROM events e WHERE e.created_at < now() - make_interval(days => $1)
           AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_id = e.id AND d.status = 'pending')
         LIMIT 10000)`,
      [this.env.eventRetentionDays],
    );
  }

  private async succeed(delivery: ClaimedDelivery, { status, durationMs }: DeliveryOutcome): Promise<void> {
    const { id, leaseToken, webhookId, webhookIsFailing } = delivery;
    // What must not get lost comes first: until it is committed, a crash here means that the receiver hears twice.
    await this.successes.write({ id, leaseToken, status, durationMs });
    if (!webhookIsFailing) return;
    // Another statement, so that each has one row to lock: see `lockWebhook`.
    await this.database.query(
      `UPDATE webhooks SET failing_since = NULL, consecutive_failures = 0 WHERE id = $1 AND failing_since IS NOT NULL`,
      [webhookId],
    );
  }

  private async fail(delivery: ClaimedDelivery, outcome: DeliveryOutcome): Promise<void> {
    const { id, leaseToken, webhookId, attempt } = delivery;
    const { status, error, retryAfter, durationMs } = outcome;
    const schedule = this.env.webhookRetrySchedule;
    const nextAt = nextAttempt({ attempt, schedule, now: new Date(), retryAfter });
    await this.database.transact(async (tx) => {
      await lockWebhook(tx, webhookId);
      const mine = await tx.query(
        `UPDATE deliveries SET status = $3, next_attempt_at = $4, lease_token = NULL, lease_until = NULL,
           last_status = $5, last_error = $6, last_duration_ms = $7, updated_at = now()
         WHERE id = $1 AND lease_token = $2 AND status = 'pending' RETURNING id`,
        [id, leaseToken, nextAt ? 'pending' : 'failed', nextAt, status, error, durationMs],
      );
      if (mine.length === 0) return;
      const disabled = await this.countFailure(tx, webhookId, status === GONE);
      if (disabled) await this.failPending(tx, webhookId);
      else if (nextAt) tx.afterCommit(() => this.ringAt(webhookId, nextAt));
    });
  }

  /** @returns whether this failure disabled the webhook. */
  private async countFailure(tx: Tx, webhookId: string, gone: boolean): Promise<boolean> {
    await tx.query(
      `UPDATE webhooks SET consecutive_failures = consecutive_failures + 1, failing_since = coalesce(failing_since, now())
       WHERE id = $1`,
      [webhookId],
    );
    const disabled = await tx.query(
      `UPDATE webhooks SET status = 'disabled', updated_at = now()
       WHERE id = $1 AND status = 'active' AND ($2 OR (
         consecutive_failures >= ${HOPELESS_FAILURES} AND failing_since < now() - interval '${HOPELESS_DAYS} days'))
       RETURNING id`,
      [webhookId, gone],
    );
    return disabled.length > 0;
  }

  private ringAt(webhookId: string, time: Date): void {
    const delay = time.getTime() - Date.now();
    if (delay < NEAR_MS) void this.jobs.enqueue({ webhookId }, { deduplicationKey: time.getTime(), delayMs: delay });
  }
}

/**
 * Whoever writes a webhook and its deliveries in one transaction begins with the webhook, as its change and its deletion
 * do: the other way round, deliveries that end at the same time would wait for each other.
 */
async function lockWebhook(tx: Tx, webhookId: string): Promise<void> {
  await tx.query('SELECT 1 FROM webhooks WHERE id = $1 FOR NO KEY UPDATE', [webhookId]);
}
