import type { Tx } from '../../../../platform/database/database.service.js';
import { MAX_LOGGED } from '../../deliveries/deliveries.queries.js';
import type { RedeliverDto } from '../deliveries.dto.js';
import type { RedeliveryPhase, RedeliveryStatus } from './webhook-redelivery.entity.js';

/** Times as text, because a Date has no microseconds. */
export interface LockedRedelivery {
  webhookId: string;
  accountId: string;
  status: RedeliveryStatus | null;
  createdFrom: string;
  createdUntil: string;
  startedAt: string;
  phase: RedeliveryPhase;
  afterAt: string;
  afterId: string;
}

/** A row, by the order of all lists. */
export interface Position {
  at: string;
  id: string;
}

/**
 * Makes deliveries that have ended pending again, and moves the attempts that delivered them to the log.
 * @param chosen which of `deliveries d`, and how they are locked.
 */
const redeliver = (chosen: string): string => `
  WITH chosen AS MATERIALIZED (
    SELECT d.id, d.status, d.attempts, coalesce(d.last_attempt_at, d.updated_at) AS last_attempt_at,
      d.last_status, coalesce(d.last_duration_ms, 0) AS last_duration_ms, d.last_response
    FROM deliveries d WHERE ${chosen}
  ), logged AS (
    INSERT INTO delivery_attempts (delivery_id, number, started_at, status, duration_ms, response)
    SELECT id, attempts, last_attempt_at, last_status, last_duration_ms, last_response
    FROM chosen WHERE status = 'delivered' ON CONFLICT DO NOTHING
  ), forgotten AS (
    DELETE FROM delivery_attempts a USING chosen c
    WHERE a.delivery_id = c.id AND a.number <= c.attempts - ${MAX_LOGGED}
  ), reopened AS (
    UPDATE deliveries d SET status = 'pending', next_attempt_at = now(), attempts_before = d.attempts,
      last_response = NULL, updated_at = now()
    FROM chosen WHERE d.id = chosen.id RETURNING d.created_at, d.id
  )
  SELECT created_at::text AS at, id FROM reopened r ORDER BY r.created_at, r.id`;

/**
 * One that has ended. SQL because one statement changes the delivery and its log. Of two at the same time the second
 * waits, and finds it pending. @returns whether it was changed.
 */
export async function redeliverOne(tx: Tx, webhookId: string, id: string): Promise<boolean> {
  const rows = await tx.query(
    redeliver(`d.id = $1 AND d.webhook_id = $2 AND d.status <> 'pending' FOR NO KEY UPDATE`),
    [id, webhookId],
  );
  return rows.length > 0;
}

/** The next deliveries of a redelivery of many, the oldest first. SQL because of LIMIT. @returns their positions. */
export async function redeliverNext(tx: Tx, job: LockedRedelivery, count: number): Promise<Position[]> {
  // Literally, so that the index of failed deliveries is used.
  const status = job.status === 'delivered' ? 'delivered' : 'failed';
  return await tx.query<Position>(
    redeliver(
      `d.webhook_id = $1 AND d.status = '${status}' AND d.created_at >= $2::timestamptz AND d.created_at < $3::timestamptz
       AND (d.created_at, d.id) > ($4::timestamptz, $5::uuid) AND d.updated_at < $6::timestamptz
       ORDER BY d.created_at, d.id LIMIT $7 FOR NO KEY UPDATE SKIP LOCKED`,
    ),
    [job.webhookId, job.createdFrom, job.createdUntil, job.afterAt, job.afterId, job.startedAt, count],
  );
}

/** Missed or not: so many are looked at by one statement, however few are missed. SQL because of LIMIT. */
export async function selectNextEvents(
  tx: Tx,
  job: LockedRedelivery,
  count: number,
): Promise<(Position & MissedEvent)[]> {
  return await tx.query<Position & MissedEvent>(
    `SELECT e.created_at::text AS at, e.id, e.kind = ANY (w.events) AND ${NOT_DELIVERED} AS "isMissed"
     FROM events e JOIN webhooks w ON w.id = $1
     WHERE e.account_id = $2 AND e.created_at >= greatest($3::timestamptz, w.created_at) AND e.created_at < $4::timestamptz
       AND (e.created_at, e.id) > ($5::timestamptz, $6::uuid)
     ORDER BY e.created_at, e.id LIMIT $7`,
    [job.webhookId, job.accountId, job.createdFrom, job.createdUntil, job.afterAt, job.afterId, count],
  );
}

interface MissedEvent {
  isMissed: boolean;
}

const NOT_DELIVERED = 'NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_id = e.id AND d.webhook_id = w.id)';

/** SQL because one statement inserts many rows, and skips events that were deleted or delivered meanwhile. */
export async function insertMissed(
  tx: Tx,
  { webhookId, accountId }: LockedRedelivery,
  missed: readonly { id: string; eventId: string }[],
): Promise<void> {
  await tx.query(
    `INSERT INTO deliveries (id, account_id, event_id, webhook_id, status, next_attempt_at, created_at, updated_at)
     SELECT m.id, $1, e.id, $2, 'pending', now(), e.created_at, now()
     FROM unnest($3::uuid[], $4::uuid[]) AS m (id, event_id) JOIN events e ON e.id = m.event_id
     ORDER BY e.created_at, e.id ON CONFLICT ON CONSTRAINT deliveries_event_webhook_key DO NOTHING`,
    [accountId, webhookId, missed.map(({ id }) => id), missed.map(({ eventId }) => eventId)],
  );
}

export interface NewRedelivery extends RedeliverDto {
  webhookId: string;
  accountId: string;
}

/** Before the first row of a phase. */
export const START = { afterAt: '-infinity', afterId: '00000000-0000-0000-0000-000000000000' };

/** SQL because of ON CONFLICT and the database's clock. @returns whether the webhook had none in progress. */
export async function insertRedelivery(
  tx: Tx,
  { webhookId, accountId, status, date_from: from, date_to: to }: NewRedelivery,
): Promise<boolean> {
  const rows = await tx.query(
    `INSERT INTO webhook_redeliveries
       (webhook_id, account_id, status, created_from, created_until, started_at, phase, after_at, after_id)
     VALUES ($1, $2, $3, coalesce($4::date::timestamp AT TIME ZONE 'UTC', '-infinity'),
       coalesce(($5::date + 1)::timestamp AT TIME ZONE 'UTC', 'infinity'), now(), $6, $7::timestamptz, $8)
     ON CONFLICT DO NOTHING RETURNING 1`,
    [
      webhookId,
      accountId,
      status ?? null,
      from ?? null,
      to ?? null,
      status === 'missed' ? 'events' : 'deliveries',
      START.afterAt,
      START.afterId,
    ],
  );
  return rows.length > 0;
}

const IN_DAYS = (alias: string): string =>
  `${alias}.created_at >= r.created_from AND ${alias}.created_at < r.created_until`;
const COUNT_ENDED = (status: 'delivered' | 'failed'): string => `(
  SELECT count(*) FROM deliveries d
  WHERE d.webhook_id = $1 AND d.status = '${status}' AND ${IN_DAYS('d')} AND d.updated_at < r.started_at)`;
const COUNT_MISSED = `(
  SELECT count(*) FROM events e
  WHERE e.account_id = w.account_id AND e.kind = ANY (w.events) AND e.created_at >= w.created_at AND ${IN_DAYS('e')}
    AND ${NOT_DELIVERED})`;
const COUNTS = {
  delivered: COUNT_ENDED('delivered'),
  failed: COUNT_ENDED('failed'),
  missed: COUNT_MISSED,
  both: `${COUNT_ENDED('failed')} + ${COUNT_MISSED}`,
};

/** SQL because it counts what has no delivery. */
export async function countRedelivery(tx: Tx, webhookId: string, status: RedeliveryStatus | null): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `SELECT (${COUNTS[status ?? 'both']})::float8 AS count
     FROM webhook_redeliveries r JOIN webhooks w ON w.id = r.webhook_id WHERE r.webhook_id = $1`,
    [webhookId],
  );
  return row?.count ?? 0;
}

/** Null when another process works on it, or it has ended. SQL because of SKIP LOCKED, and of times as text. */
export async function lockRedelivery(tx: Tx, webhookId: string): Promise<LockedRedelivery | null> {
  const [job] = await tx.query<LockedRedelivery>(
    `SELECT webhook_id AS "webhookId", account_id AS "accountId", status, created_from::text AS "createdFrom",
       created_until::text AS "createdUntil", started_at::text AS "startedAt", phase, after_at::text AS "afterAt",
       after_id AS "afterId"
     FROM webhook_redeliveries WHERE webhook_id = $1 FOR UPDATE SKIP LOCKED`,
    [webhookId],
  );
  return job ?? null;
}

/** SQL because a position is text with microseconds. */
export async function moveRedelivery(
  tx: Tx,
  { webhookId, phase }: LockedRedelivery,
  { at, id }: Position,
): Promise<void> {
  await tx.query(
    'UPDATE webhook_redeliveries SET phase = $2, after_at = $3::timestamptz, after_id = $4 WHERE webhook_id = $1',
    [webhookId, phase, at, id],
  );
}
