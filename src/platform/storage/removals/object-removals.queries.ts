import type { SqlRunner, Tx } from '../../database/database.service.js';
import type { ObjectRemoval } from './object-removal.entity.js';

/** Puts objects on the list, to be removed after `seconds`. SQL, because many keys go in as one parameter. */
export async function insertReservations(runner: SqlRunner, keys: readonly string[], seconds: number): Promise<void> {
  await runner.prepared(
    `INSERT INTO object_removals (object_key, remove_after)
     SELECT key, now() + make_interval(secs => $2) FROM unnest($1::text[]) AS key`,
    [keys, seconds],
  );
}

/**
 * Takes a reserved object off the list, as a part of the statement that inserts the row it belongs to. It returns no row
 * when the reservation has expired and the object may be gone.
 * @param key a placeholder of the statement, such as `$1`
 */
export const claimReservedObject = (key: string): string =>
  `DELETE FROM object_removals WHERE object_key = ${key} RETURNING object_key`;

/** SQL, because the clock of the database decides. */
export async function selectDueRemovals(runner: SqlRunner, limit: number): Promise<Pick<ObjectRemoval, 'objectKey'>[]> {
  return await runner.query(
    `SELECT object_key AS "objectKey" FROM object_removals WHERE remove_after <= now() ORDER BY remove_after LIMIT $1`,
    [limit],
  );
}

/**
 * Whether the object is due, and locked by this transaction now. SQL, because the clock of the database decides and a
 * row that another process has locked is skipped.
 */
export async function lockDueRemoval(tx: Tx, key: string): Promise<boolean> {
  const rows = await tx.query(
    'SELECT 1 FROM object_removals WHERE object_key = $1 AND remove_after <= now() FOR UPDATE SKIP LOCKED',
    [key],
  );
  return rows.length > 0;
}
