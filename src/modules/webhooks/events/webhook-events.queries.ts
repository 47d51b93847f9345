import type { DatabaseService, Tx } from '../../../platform/database/database.service.js';

/**
 * The next number in the account's sequence of events. The row stays locked until the commit, so that numbers become
 * visible in order. SQL because the upsert increments a column and returns it.
 */
export async function nextEventSequence(tx: Tx, accountId: string): Promise<string> {
  const [row] = await tx.query<{ last: string }>(
    `INSERT INTO event_sequences AS s (account_id, last) VALUES ($1, 1)
     ON CONFLICT ON CONSTRAINT event_sequences_pkey DO UPDATE SET last = s.last + 1 RETURNING last`,
    [accountId],
  );
  if (!row) throw new Error('no event sequence');
  return row.last;
}

/** Deletes events past their retention that have no pending delivery. SQL because TypeORM's DELETE has no LIMIT. */
export async function deleteEventsOlderThan(database: DatabaseService, days: number, count: number): Promise<number> {
  const rows = await database.query(
    `DELETE FROM events WHERE id IN (
       SELECT e.id FROM events e WHERE e.created_at < now() - make_interval(days => $1)
         AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_id = e.id AND d.status = 'pending')
       LIMIT $2) RETURNING 1`,
    [days, count],
  );
  return rows.length;
}
