import { randomUUID } from 'node:crypto';
import { accountNotOnHold } from '../../../access/accounts.queries.js';
import type { QueuedWork } from '../../../platform/observability/traces/work-ids.js';
import type { WebhookEvent } from '../events/webhook-event.entity.js';
import type { DatabaseService, SqlRunner, Tx } from '../../../platform/database/database.service.js';

/** A delivery leased to this process, with all that is needed to send it. */
export interface ClaimedDelivery {
  id: string;
  leaseToken: string;
  webhookId: string;
  accountId: string;
  url: string;
  encryptedSecret: string;
  /** The secret before, while it still signs (D37). */
  previousEncryptedSecret: string | null;
  eventId: string;
  eventKind: string;
  /** Null for an event that is about no recording. */
  recordingId: string | null;
  run: number | null;
  body: string;
  /** Number of this attempt, from 1. */
  attempt: number;
  /** Attempts before the last redelivery, which began the retry schedule anew. */
  attemptsBefore: number;
  /** Whether the webhook's last attempt had failed when this delivery was claimed. */
  webhookIsFailing: boolean;
  /** Seconds since this attempt was due, at the claim; for the first one, since the event. */
  dueSeconds: number;
  /** Whether another process had claimed it and its lease has expired: that process was lost. */
  isTakenOver: boolean;
  /** By `performance.now()`. */
  claimedAt: number;
}

/** The deliveries of an event, in the trace of its recording, or in one of its own. */
export const deliveryOf = ({ id, recordingId, run }: Pick<WebhookEvent, 'id' | 'recordingId' | 'run'>): QueuedWork => ({
  id: recordingId ?? id,
  run: run ?? 1,
  step: `deliver ${id}`,
});

/** A delivery that its receiver accepted. */
export interface DeliverySuccess {
  id: string;
  leaseToken: string;
  /** HTTP status: 200 to 299, or of a failure another one, or null without a response. */
  status: number | null;
  durationMs: number;
  /** Milliseconds since the start of the attempt: its outcome may have waited for Postgres. */
  agoMs: number;
  response: string | null;
}

/** A delivery whose attempt failed. */
export interface DeliveryFailure extends DeliverySuccess {
  errorKind: string | null;
  error: string | null;
  /** Until the next attempt; null when there is none. */
  delayMs: number | null;
}

/** Attempts of a delivery that are kept: those of three rounds of the usual schedule. */
export const MAX_LOGGED = 30;

/**
 * SQL for statements that find a delivery by its id: it is pending (`deliveries_state_check`). With `status = 'pending'`
 * Postgres may read the whole index of what is pending instead, as long as its statistics say that this is empty.
 */
export const isPending = (row: string): string => `${row}.next_attempt_at IS NOT NULL`;

/** So many milliseconds ago, by the clock of the database. */
const timeOf = (agoMs: string): string => `now() - make_interval(secs => ${agoMs} / 1000.0)`;

/** Longer than the longest attempt: a lease held longer belongs to a process that died. */
const LEASE_SECONDS = 30;

/**
 * Leases up to `count` due deliveries of a webhook, the longest due first.
 * SQL because of SKIP LOCKED in a CTE and the UPDATE over a join that returns columns of three tables.
 */
export async function claimDueDeliveries(
  database: DatabaseService,
  webhookId: string,
  count: number,
): Promise<ClaimedDelivery[]> {
  const rows = await database.prepared<Omit<ClaimedDelivery, 'claimedAt'>>(
    `WITH due AS MATERIALIZED (
       SELECT d.id, d.lease_token IS NOT NULL AS taken_over
       FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id AND w.status = 'active'
       WHERE d.webhook_id = $1 AND d.status = 'pending' AND d.next_attempt_at <= now()
         AND (d.lease_until IS NULL OR d.lease_until < now()) AND ${accountNotOnHold('w.account_id')}
       ORDER BY d.next_attempt_at LIMIT $2 FOR UPDATE OF d SKIP LOCKED)
     UPDATE deliveries d SET attempts = attempts + 1, last_attempt_at = now(), lease_token = $3,
       lease_until = now() + make_interval(secs => ${LEASE_SECONDS})
     FROM due, webhooks w, events e
     WHERE d.id = due.id AND w.id = d.webhook_id AND e.id = d.event_id
     RETURNING d.id, d.lease_token AS "leaseToken", d.webhook_id AS "webhookId", w.account_id AS "accountId", w.url,
       w.encrypted_secret AS "encryptedSecret",
       CASE WHEN w.previous_secret_until > now() THEN w.previous_encrypted_secret END AS "previousEncryptedSecret", d.event_id AS "eventId",
       e.kind AS "eventKind", e.recording_id AS "recordingId", e.run, e.body, d.attempts AS attempt,
       d.attempts_before AS "attemptsBefore",
       w.failing_since IS NOT NULL AS "webhookIsFailing", due.taken_over AS "isTakenOver",
       extract(epoch FROM now() - d.next_attempt_at)::float8 AS "dueSeconds"`,
    [webhookId, count, randomUUID()],
  );
  const claimedAt = performance.now();
  return rows.map((row) => ({ ...row, claimedAt }));
}

/**
 * Marks deliveries as delivered, except those whose lease is lost. Several rows are updated with `skipLocked`, so that
 * statements cannot deadlock. SQL because one statement updates many rows with different values.
 * @returns the ids of the updated deliveries.
 */
export async function markDelivered(
  runner: SqlRunner,
  batch: readonly DeliverySuccess[],
  { skipLocked }: { skipLocked: boolean },
): Promise<string[]> {
  const rows = await runner.prepared<{ id: string }>(
    `WITH arrived AS MATERIALIZED (
       SELECT d.id, s.status, s.duration_ms, s.response, s.ago_ms
       FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::text[], $6::float8[])
         AS s (id, lease_token, status, duration_ms, response, ago_ms)
       JOIN deliveries d ON d.id = s.id AND d.lease_token = s.lease_token AND ${isPending('d')}
       FOR UPDATE OF d ${skipLocked ? 'SKIP LOCKED' : ''})
     UPDATE deliveries d SET status = 'delivered', next_attempt_at = NULL, lease_token = NULL, lease_until = NULL,
       last_attempt_at = ${timeOf('arrived.ago_ms')}, last_status = arrived.status, last_error = NULL,
       last_error_kind = NULL, last_duration_ms = arrived.duration_ms, last_response = arrived.response, updated_at = now()
     FROM arrived WHERE d.id = arrived.id RETURNING d.id`,
    [
      batch.map(({ id }) => id),
      batch.map(({ leaseToken }) => leaseToken),
      batch.map(({ status }) => status),
      batch.map(({ durationMs }) => durationMs),
      batch.map(({ response }) => response),
      batch.map(({ agoMs }) => agoMs),
    ],
  );
  return rows.map(({ id }) => id);
}

/**
 * Saves a failed attempt, unless the lease is lost. SQL because one statement changes the delivery and its log.
 * @returns whether it was saved.
 */
export async function markAttemptFailed(tx: Tx, failure: DeliveryFailure): Promise<boolean> {
  const { id, leaseToken, status, errorKind, error, durationMs, agoMs, response, delayMs } = failure;
  const rows = await tx.query(
    `WITH failed AS (
       UPDATE deliveries d SET status = CASE WHEN $3::float8 IS NULL THEN 'failed' ELSE 'pending' END,
         next_attempt_at = now() + make_interval(secs => $3::float8 / 1000), lease_token = NULL, lease_until = NULL,
         last_attempt_at = ${timeOf('$9::float8')}, last_status = $4, last_error_kind = $5, last_error = $6,
         last_duration_ms = $7, updated_at = now()
       WHERE d.id = $1 AND d.lease_token = $2 AND ${isPending('d')} RETURNING d.id, d.attempts, d.last_attempt_at
     ), forgotten AS (
       DELETE FROM delivery_attempts a USING failed f
       WHERE a.delivery_id = f.id AND a.number <= f.attempts - ${MAX_LOGGED}
     )
     INSERT INTO delivery_attempts (delivery_id, number, started_at, status, error, reason, duration_ms, response)
     SELECT id, attempts, last_attempt_at, $4, $5, $6, $7, $8 FROM failed RETURNING number`,
    [id, leaseToken, delayMs, status, errorKind, error, durationMs, response, agoMs],
  );
  return rows.length > 0;
}

/** A webhook whose row the transaction has locked. */
export interface LockedWebhook {
  id: string;
  status: string;
  consecutiveFailures: number;
  /** Since the first failure after the last success; null when it is not failing. */
  failingSeconds: number | null;
}

/** SQL because the clock of the database tells how long it has been failing. */
export async function lockWebhook(tx: Tx, id: string): Promise<LockedWebhook | null> {
  const [webhook] = await tx.query<LockedWebhook>(
    `SELECT id, status, consecutive_failures AS "consecutiveFailures",
       extract(epoch FROM now() - failing_since)::float8 AS "failingSeconds"
     FROM webhooks WHERE id = $1 FOR NO KEY UPDATE`,
    [id],
  );
  return webhook ?? null;
}

/** Fails pending deliveries of a disabled webhook. SQL because of LIMIT. @returns how many, at most `count`. */
export async function failPendingDeliveries(runner: SqlRunner, webhookId: string, count: number): Promise<number> {
  const rows = await runner.query(
    `UPDATE deliveries d SET status = 'failed', next_attempt_at = NULL, last_error = 'webhook disabled',
       last_error_kind = NULL, lease_token = NULL, lease_until = NULL, updated_at = now()
     FROM (SELECT p.id FROM deliveries p JOIN webhooks w ON w.id = p.webhook_id AND w.status = 'disabled'
           WHERE p.webhook_id = $1 AND p.status = 'pending' LIMIT $2 FOR UPDATE OF p) pending
     WHERE d.id = pending.id RETURNING d.id`,
    [webhookId, count],
  );
  return rows.length;
}

/** SQL because of LIMIT. @returns how many were deleted, at most `count`. */
export async function deleteDeliveries(runner: SqlRunner, webhookId: string, count: number): Promise<number> {
  const rows = await runner.query(
    `DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE webhook_id = $1 LIMIT $2) RETURNING id`,
    [webhookId, count],
  );
  return rows.length;
}

/** The webhooks with pending deliveries: one probe of `deliveries_due_idx` for each, however many it has. */
const PENDING = `
  WITH RECURSIVE pending AS (
    (SELECT webhook_id FROM deliveries WHERE status = 'pending' ORDER BY webhook_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.webhook_id FROM deliveries d WHERE d.status = 'pending' AND d.webhook_id > p.webhook_id
            ORDER BY d.webhook_id LIMIT 1)
    FROM pending p WHERE p.webhook_id IS NOT NULL)`;
/** Webhooks that one round of the reconciler works on. */
const MAX_WEBHOOKS = 1000;

/**
 * Active webhooks with due deliveries that no process holds, those that do not fail first. SQL because of the recursion
 * and the server's clock.
 */
export async function webhooksWithDueDeliveries(database: DatabaseService): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `${PENDING}
     SELECT w.id FROM pending p JOIN webhooks w ON w.id = p.webhook_id
     WHERE w.status = 'active' AND ${accountNotOnHold('w.account_id')} AND EXISTS (
       SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.next_attempt_at <= now()
         AND (d.lease_until IS NULL OR d.lease_until < now()))
     ORDER BY w.failing_since IS NOT NULL, random() LIMIT ${MAX_WEBHOOKS}`,
  );
  return rows.map(({ id }) => id);
}

/**
 * How long the delivery has been due that waits for this service for longest, in seconds; 0 when none does. Those of failing,
 * disabled and suspended receivers wait for them, and so do those behind an attempt that is under way. One probe of
 * `deliveries_due_idx` for each webhook with pending deliveries, and one for its first that is due. SQL because of the
 * recursion and the server's clock.
 */
export async function oldestDueDelivery(runner: SqlRunner): Promise<number> {
  const [oldest] = await runner.query<{ seconds: number }>(
    `${PENDING}
     SELECT coalesce(extract(epoch FROM now() - min(head.next_attempt_at)), 0)::float8 AS seconds
     FROM pending p JOIN webhooks w ON w.id = p.webhook_id
     CROSS JOIN LATERAL (
       SELECT d.next_attempt_at, d.lease_until FROM deliveries d
       WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.next_attempt_at <= now()
       ORDER BY d.next_attempt_at LIMIT 1) head
     WHERE w.status = 'active' AND w.failing_since IS NULL AND ${accountNotOnHold('w.account_id')}
       AND (head.lease_until IS NULL OR head.lease_until < now())`,
  );
  return oldest?.seconds ?? 0;
}

/** Disabled webhooks that still have pending deliveries. SQL because of the recursion. */
export async function disabledWebhooksWithPending(database: DatabaseService): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `${PENDING}
     SELECT w.id FROM pending p JOIN webhooks w ON w.id = p.webhook_id WHERE w.status = 'disabled'
     LIMIT ${MAX_WEBHOOKS}`,
  );
  return rows.map(({ id }) => id);
}
