import { randomUUID } from 'node:crypto';
import { queueMovesOn } from '../../../access/accounts-on-hold.js';
import type { DatabaseService } from '../../../platform/database/database.service.js';

/** A delivery leased to this process, with all that is needed to send it. */
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
  /** Whether the webhook's last attempt had failed when this delivery was claimed. */
  webhookIsFailing: boolean;
}

/** A delivery that its receiver accepted. */
export interface DeliverySuccess {
  id: string;
  leaseToken: string;
  /** 200 to 299. */
  status: number | null;
  durationMs: number;
}

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
  return await database.prepared<ClaimedDelivery>(
    `WITH due AS MATERIALIZED (
       SELECT d.id FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id AND w.status = 'active'
       WHERE d.webhook_id = $1 AND d.status = 'pending' AND d.next_attempt_at <= now()
         AND (d.lease_until IS NULL OR d.lease_until < now()) AND ${queueMovesOn('w.account_id')}
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

/**
 * Marks deliveries as delivered, except those whose lease is lost. Several rows are updated with `skipLocked`, so that
 * statements cannot deadlock. SQL because one statement updates many rows with different values.
 * @returns the ids of the updated deliveries.
 */
export async function markDelivered(
  database: DatabaseService,
  batch: readonly DeliverySuccess[],
  { skipLocked }: { skipLocked: boolean },
): Promise<string[]> {
  const rows = await database.prepared<{ id: string }>(
    `WITH arrived AS MATERIALIZED (
       SELECT d.id, s.status, s.duration_ms
       FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[]) AS s (id, lease_token, status, duration_ms)
       JOIN deliveries d ON d.id = s.id AND d.lease_token = s.lease_token AND d.status = 'pending'
       FOR UPDATE OF d ${skipLocked ? 'SKIP LOCKED' : ''})
     UPDATE deliveries d SET status = 'delivered', next_attempt_at = NULL, lease_token = NULL, lease_until = NULL,
       last_status = arrived.status, last_error = NULL, last_duration_ms = arrived.duration_ms, updated_at = now()
     FROM arrived WHERE d.id = arrived.id RETURNING d.id`,
    [
      batch.map(({ id }) => id),
      batch.map(({ leaseToken }) => leaseToken),
      batch.map(({ status }) => status),
      batch.map(({ durationMs }) => durationMs),
    ],
  );
  return rows.map(({ id }) => id);
}

/** Active webhooks with due deliveries that no process holds. SQL because of EXISTS and the server's clock. */
export async function webhooksWithDueDeliveries(database: DatabaseService): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `SELECT w.id FROM webhooks w WHERE w.status = 'active' AND ${queueMovesOn('w.account_id')} AND EXISTS (
       SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id AND d.status = 'pending' AND d.next_attempt_at <= now()
         AND (d.lease_until IS NULL OR d.lease_until < now()))`,
  );
  return rows.map(({ id }) => id);
}

/** Disabled webhooks that still have pending deliveries. SQL because of EXISTS over an entity without a relation. */
export async function disabledWebhooksWithPending(database: DatabaseService): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `SELECT w.id FROM webhooks w WHERE w.status = 'disabled'
       AND EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id AND d.status = 'pending')`,
  );
  return rows.map(({ id }) => id);
}
