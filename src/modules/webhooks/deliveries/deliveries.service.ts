import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { ArrayContains, IsNull, Not, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { coalesce } from '../../../platform/concurrency/coalesce.js';
import { ConcurrencyLimit } from '../../../platform/concurrency/concurrency-limit.js';
import { repeatWhileFull } from '../../../platform/queue/reconciler.service.js';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { parseRetryAfter } from '../../../platform/http/header-values.js';
import { SecurityLogService } from '../../../platform/observability/security-log.service.js';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import type { WebhookEvent } from '../events/webhook-event.entity.js';
import { type DeliveryOutcome, isSuccess } from '../sending/webhook-sender.service.js';
import { CALLBACK_KINDS, Webhook } from '../webhook.entity.js';
import {
  claimDueDeliveries,
  type ClaimedDelivery,
  type DeliverySuccess,
  disabledWebhooksWithPending,
  failPendingDeliveries,
  type LockedWebhook,
  lockWebhook,
  markAttemptFailed,
  markDelivered,
  oldestDueDelivery,
  webhooksWithDueDeliveries,
} from './deliveries.queries.js';
import { Delivery } from './delivery.entity.js';

export const DELIVERY_QUEUE = 'deliveries';

/** Names a webhook with due deliveries; one job covers any number of them. */
export type DeliveryJob = { webhookId: string };

/** A webhook that failed at least this often, and for this long without a success, is disabled (D29). */
const MAX_CONSECUTIVE_FAILURES = 10;
const MAX_FAILING_SECONDS = 5 * 86_400;
/** The receiver asks for no more deliveries. */
const GONE = 410;
/** Many endpoints time out at the same moment. Their failures must leave connections to Postgres for the others. */
const MAX_FAILURES = 8;
/** Deliveries changed by one statement, which takes well under a second. */
const BATCH = 1000;

/** With the milliseconds since the start of the attempt. */
type TimedOutcome = DeliveryOutcome & { agoMs: number };

/** The life cycle of a delivery: pending, then delivered or failed. Every step is a conditional update. */
@Injectable()
export class DeliveriesService {
  /**
   * Saves successful deliveries, many in one commit under load: 8 at a time take 190 µs CPU each instead of 670
   * (docs/performance.md). Held by deliveries.service.spec.ts.
   */
  private readonly saveSuccess = coalesce<DeliverySuccess, void>((batch) => this.saveSuccesses(batch));
  private readonly failures = new ConcurrencyLimit(MAX_FAILURES);

  constructor(
    @InjectRepository(Delivery) private readonly deliveries: Repository<Delivery>,
    @InjectRepository(Webhook) private readonly webhooks: Repository<Webhook>,
    private readonly database: DatabaseService,
    @InjectQueue(DELIVERY_QUEUE) private readonly jobs: JobQueue<DeliveryJob>,
    private readonly env: Env,
    private readonly securityLog: SecurityLogService,
  ) {}

  /** Inserts a delivery for each webhook that is active and subscribed now. */
  async fanOut(
    tx: Tx,
    event: Pick<WebhookEvent, 'id' | 'accountId' | 'kind' | 'recordingId' | 'createdAt'>,
  ): Promise<void> {
    const { accountId, id: eventId, recordingId, kind, createdAt } = event;
    const active = { accountId, status: 'active' as const };
    const subscribed = { ...active, recordingId: IsNull(), events: ArrayContains([kind]) };
    const isEnd = recordingId !== null && CALLBACK_KINDS.includes(kind);
    const webhooks = await tx.manager.find(Webhook, {
      select: { id: true },
      where: isEnd ? [subscribed, { ...active, recordingId }] : subscribed,
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
        nextAttemptAt: () => 'now()',
        createdAt,
        updatedAt: createdAt,
      })),
    );
    tx.afterCommit(() => {
      for (const { id } of webhooks) this.wake(id);
    });
  }

  /** Wakes the webhook's send loop in one of the deliverers. To be called after the commit of what is due. */
  wake(webhookId: string): void {
    void this.jobs.enqueue({ webhookId }, { deduplicationKey: 'due' });
  }

  /** Leases up to `count` due deliveries of a webhook, the longest due first. */
  async claim(webhookId: string, count: number): Promise<ClaimedDelivery[]> {
    return await claimDueDeliveries(this.database, webhookId, count);
  }

  /**
   * Saves the outcome of an attempt. A delivery whose lease is lost, or that was deleted, is left unchanged.
   * @param startedAt of the attempt, by `performance.now()`.
   * @returns the milliseconds until the next attempt, null when there is none.
   */
  async record(
    delivery: ClaimedDelivery,
    outcome: DeliveryOutcome,
    startedAt = performance.now() - outcome.durationMs,
  ): Promise<number | null> {
    const timed = { ...outcome, agoMs: performance.now() - startedAt };
    if (!isSuccess(outcome)) return await this.failures.run(() => this.fail(delivery, timed));
    await this.succeed(delivery, timed);
    return null;
  }

  /** Releases a claimed delivery that was not attempted, for example at shutdown. */
  async release({ id, leaseToken }: ClaimedDelivery): Promise<void> {
    await this.deliveries.update(
      { id, leaseToken, status: 'pending' },
      { leaseToken: null, leaseUntil: null, attempts: () => 'attempts - 1' },
    );
  }

  /**
   * Fails the pending deliveries of a webhook that is disabled. They can be redelivered later. Fails only so many that
   * the transaction stays short: the reconciler fails the rest.
   */
  async failPending(tx: Tx, webhookId: string): Promise<void> {
    await failPendingDeliveries(tx, webhookId, BATCH);
  }

  /** Active webhooks with due deliveries that no process is sending. */
  async webhooksWithDue(): Promise<string[]> {
    return await webhooksWithDueDeliveries(this.database);
  }

  /** How long the delivery has been due that waits for this service for longest, in seconds. */
  async oldestDueSeconds(): Promise<number> {
    return await oldestDueDelivery(this.database);
  }

  /** Fails the remaining deliveries of disabled webhooks, and those inserted while one was being disabled. */
  async failRemaining(): Promise<void> {
    for (const id of await disabledWebhooksWithPending(this.database)) {
      await repeatWhileFull(BATCH, () => failPendingDeliveries(this.database, id, BATCH));
    }
  }

  private async succeed(
    delivery: ClaimedDelivery,
    { status, durationMs, agoMs, response }: TimedOutcome,
  ): Promise<void> {
    const { id, leaseToken, webhookId, webhookIsFailing } = delivery;
    // First, because the delivery is sent again if the process dies before this commit.
    await this.saveSuccess({ id, leaseToken, status, durationMs, agoMs, response });
    if (!webhookIsFailing) return;
    // A statement of its own, so that each has one row to lock: see `fail`.
    await this.webhooks.update(
      { id: webhookId, failingSince: Not(IsNull()) },
      { failingSince: null, consecutiveFailures: 0 },
    );
  }

  private async saveSuccesses(batch: readonly DeliverySuccess[]): Promise<(void | Promise<void>)[]> {
    const saved = new Set(await markDelivered(this.database, batch, { skipLocked: true }));
    // Locked, for example while its webhook is being deleted: it waits without the others.
    return batch.map((success) => (saved.has(success.id) ? undefined : this.saveAlone(success)));
  }

  private async saveAlone(success: DeliverySuccess): Promise<void> {
    await markDelivered(this.database, [success], { skipLocked: false });
  }

  private async fail(delivery: ClaimedDelivery, outcome: TimedOutcome): Promise<number | null> {
    const { id, leaseToken, accountId, webhookId, attempt, attemptsBefore } = delivery;
    const { retryAfter, ...failure } = outcome;
    const schedule = this.env.webhookRetrySchedule;
    const delayMs = delayOfNextAttempt({ attempt: attempt - attemptsBefore, schedule, now: new Date(), retryAfter });
    return await this.database.transact(async (tx) => {
      // Update and delete of a webhook lock it before its deliveries, too. Any other order could deadlock.
      const webhook = await lockWebhook(tx, webhookId);
      const isSaved = await markAttemptFailed(tx, { ...failure, id, leaseToken, delayMs });
      if (!webhook || !isSaved) return null;
      const disabled = await this.countFailure(tx, webhook, outcome.status);
      if (!disabled) return delayMs;
      const fields = { by: 'service', account_id: accountId, webhook_id: webhookId };
      tx.afterCommit(() => this.securityLog.record('webhook disabled', fields));
      await this.failPending(tx, webhookId);
      return null;
    });
  }

  /** @param webhook locked by `tx`. @returns whether this failure disabled the webhook. */
  private async countFailure(tx: Tx, webhook: LockedWebhook, status: number | null): Promise<boolean> {
    const consecutiveFailures = webhook.consecutiveFailures + 1;
    const isHopeless =
      consecutiveFailures >= MAX_CONSECUTIVE_FAILURES && (webhook.failingSeconds ?? 0) > MAX_FAILING_SECONDS;
    const disabled = webhook.status === 'active' && (status === GONE || isHopeless);
    await tx.manager.update(
      Webhook,
      { id: webhook.id },
      {
        consecutiveFailures,
        ...(webhook.failingSeconds === null && { failingSince: () => 'now()' }),
        ...(disabled && { status: 'disabled' as const, updatedAt: () => 'now()' }),
      },
    );
    return disabled;
  }
}

interface FailedAttempt {
  /** Number of the attempt that has just failed, from 1. */
  attempt: number;
  /** Gaps between attempts in seconds: n gaps make n + 1 attempts. */
  schedule: readonly number[];
  now: Date;
  /** `Retry-After` of a 429 or 503 response, else null. */
  retryAfter: string | null;
  /** From 0 up to but not including 1. */
  random?: () => number;
}

/** Spreads retries of deliveries that failed together. */
const JITTER = 0.2;
/** A receiver can delay the next attempt by at most an hour. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * Milliseconds until the next attempt: the next gap of the schedule, with jitter, or what the receiver asked for,
 * whichever is longer. Null when no attempts are left. A delay, because only Postgres tells the time.
 */
export function delayOfNextAttempt(failed: FailedAttempt): number | null {
  const { attempt, schedule, now, retryAfter, random = Math.random } = failed;
  const gapSeconds = schedule[attempt - 1];
  if (gapSeconds === undefined) return null;
  const gapMs = gapSeconds * 1000 * (1 - JITTER + 2 * JITTER * random());
  const askedMs = Math.min(parseRetryAfter(retryAfter, now) ?? 0, MAX_RETRY_AFTER_MS);
  return Math.round(Math.max(gapMs, askedMs));
}
