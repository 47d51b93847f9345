import type { SqlRunner, Tx } from '../../../platform/database/database.service.js';
import type { WebhookEvent } from './webhook-event.entity.js';

/** An event that is inserted: its number is given after the commit. */
export type InsertedEvent = Omit<WebhookEvent, 'sequence' | 'position'>;

const COLUMNS = 'id, account_id, kind, recording_id, run, user_id, body, created_at';
const COLUMN_COUNT = 8;

export const eventParameters = (event: InsertedEvent): unknown[] => [
  event.id,
  event.accountId,
  event.kind,
  event.recordingId,
  event.run,
  event.userId,
  event.body,
  event.createdAt,
];

/** The INSERT of one event for each row of a CTE. @param first number of the first placeholder */
export function insertEventFor(cte: string, first: number): string {
  const values = Array.from({ length: COLUMN_COUNT }, (_, i) => `$${first + i}`).join(', ');
  return `INSERT INTO events (${COLUMNS}) SELECT ${values} FROM ${cte}`;
}

/** SQL, because it is prepared: every upload ends with one. */
export async function insertEvent(tx: Tx, event: InsertedEvent): Promise<void> {
  await tx.prepared(`INSERT INTO events (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, eventParameters(event));
}

/** A place among all events in the order of their times: the last one before it, its time as Postgres writes it. */
export interface EventPlace {
  at: string;
  id: string;
}

/** Before the first event of all. */
export const FIRST_PLACE: EventPlace = { at: '-infinity', id: '00000000-0000-0000-0000-000000000000' };

export interface OldEvents {
  scanned: number;
  deleted: number;
  /** Of the last that was scanned; null when none was. */
  last: EventPlace | null;
}

/**
 * Looks at the next `count` events past their retention and deletes those that have no pending delivery. SQL, because one
 * statement tells what it has scanned and what it has deleted.
 */
export async function deleteOldEvents(
  runner: SqlRunner,
  days: number,
  after: EventPlace,
  count: number,
): Promise<OldEvents> {
  const [row] = await runner.query<OldEvents>(
    `WITH scanned AS MATERIALIZED (
       SELECT id, created_at FROM events
       WHERE created_at < now() - make_interval(days => $1) AND (created_at, id) > ($2::timestamptz, $3::uuid)
       ORDER BY created_at, id LIMIT $4),
     gone AS (
       DELETE FROM events WHERE id IN (
         SELECT s.id FROM scanned s
         WHERE NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = s.id AND d.status = 'pending'))
       RETURNING 1)
     SELECT (SELECT count(*)::int FROM scanned) AS scanned, (SELECT count(*)::int FROM gone) AS deleted,
       (SELECT json_build_object('at', created_at, 'id', id) FROM scanned ORDER BY created_at DESC, id DESC LIMIT 1) AS last`,
    [days, after.at, after.id, count],
  );
  return row as OldEvents;
}

/**
 * The next events that name an end user, in no order: to sort all of them for each batch would take hours with a million.
 * SQL because of LIMIT. @returns their ids
 */
export async function selectEventsOfUser(
  runner: SqlRunner,
  accountId: string,
  userId: string,
  until: string,
  count: number,
): Promise<string[]> {
  const rows = await runner.query<{ id: string }>(
    `SELECT id FROM events e WHERE account_id = $1 AND user_id = $2 AND (created_at <= $3::timestamptz
       OR NOT EXISTS (SELECT FROM recordings r WHERE r.id = e.recording_id)) LIMIT $4`,
    [accountId, userId, until, count],
  );
  return rows.map(({ id }) => id);
}

/**
 * Those of the events that still name the end user, locked by `tx` in the order of their ids, so that two that lock the same
 * cannot deadlock. SQL because of FOR UPDATE.
 */
export async function lockEventsOfUser(
  tx: Tx,
  userId: string,
  ids: readonly string[],
): Promise<{ id: string; body: string }[]> {
  return await tx.query(
    `SELECT id, body FROM events WHERE id = ANY ($1) AND user_id = $2 ORDER BY id FOR NO KEY UPDATE`,
    [ids, userId],
  );
}

/** With them go the answers of receivers, which may repeat them. SQL, because one statement gives each row another body. */
export async function replaceBodies(tx: Tx, events: readonly { id: string; body: string }[]): Promise<void> {
  await tx.query(
    `WITH sent AS (
       UPDATE deliveries SET last_response = NULL WHERE event_id = ANY ($1) RETURNING id
     ), tried AS (
       UPDATE delivery_attempts a SET response = NULL FROM sent WHERE a.delivery_id = sent.id
     )
     UPDATE events e SET body = redacted.body, user_id = NULL
     FROM unnest($1::uuid[], $2::text[]) AS redacted (id, body) WHERE e.id = redacted.id`,
    [events.map(({ id }) => id), events.map(({ body }) => body)],
  );
}
