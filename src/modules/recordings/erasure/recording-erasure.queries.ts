import type { SqlRunner, Tx } from '../../../platform/database/database.service.js';
import { selectList } from '../../../platform/database/entity-columns.js';
import { Recording } from '../recording.entity.js';

const DELETE = `
  WITH gone AS (
    DELETE FROM recordings WHERE id IN (
      SELECT id FROM recordings WHERE account_id = $1 AND user_id = $2
      ORDER BY created_at DESC, id DESC LIMIT $3 FOR UPDATE)
    RETURNING *),
  counted AS (
    INSERT INTO usage_counter_deltas
      (account_id, day, status, listed, accepted, duration_ms, bytes, queued_ms, key_id, user_id)
    SELECT account_id, (created_at AT TIME ZONE 'UTC')::date, status, -count(*), 0, 0, -sum(file_size_bytes),
      -coalesce(sum(duration_ms) FILTER (WHERE status = 'processing' OR rerun = 'requested'), 0), key_id, user_id
    FROM gone GROUP BY 1, 2, 3, key_id, user_id),
  removed AS (INSERT INTO object_removals (object_key, remove_after) SELECT object_key, now() FROM gone)
  SELECT ${selectList(Recording, 'r')} FROM gone r`;

/**
 * Deletes up to `count` recordings of an end user, with their counts, and puts their objects on the list of those to
 * remove. Rows are locked in the order of an index, so that two such statements cannot deadlock. SQL, because one
 * statement does it all.
 */
export async function deleteRecordingsOfUser(
  tx: Tx,
  accountId: string,
  userId: string,
  count: number,
): Promise<Recording[]> {
  return await tx.prepared<Recording>(DELETE, [accountId, userId, count]);
}

/** SQL, because TypeORM's DELETE has no LIMIT. @returns how many, at most `count`. */
export async function deleteIdempotencyKeysOf(
  runner: SqlRunner,
  accountId: string,
  userId: string,
  count: number,
): Promise<number> {
  const rows = await runner.query(
    `DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM idempotency_keys WHERE account_id = $1 AND identity = $2 LIMIT $3)) RETURNING 1`,
    [accountId, userId, count],
  );
  return rows.length;
}
