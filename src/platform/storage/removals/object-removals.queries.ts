import type { SqlRunner } from '../../database/database.service.js';
import type { ObjectRemoval } from './object-removal.entity.js';

/** Longer than any store takes for one upload. */
const RESERVED_SECONDS = 3600;

/** An object that is about to be written, and what it counts for until it is claimed or given up. */
export type ObjectReservation = {
  [Column in 'objectKey' | 'accountId' | 'bytes' | 'durationMs']: NonNullable<ObjectRemoval[Column]>;
};

/** Puts objects on the list, to be removed unless they are claimed. SQL, because many rows go in by one statement. */
export async function insertReservations(runner: SqlRunner, reserved: readonly ObjectReservation[]): Promise<void> {
  const column = <Name extends keyof ObjectReservation>(name: Name) => reserved.map((reservation) => reservation[name]);
  await runner.prepared(
    `INSERT INTO object_removals (object_key, account_id, bytes, duration_ms, remove_after)
     SELECT *, now() + make_interval(secs => $5) FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::bigint[])`,
    [column('objectKey'), column('accountId'), column('bytes'), column('durationMs'), RESERVED_SECONDS],
  );
}

/**
 * The reservations of an account, as a sub-select; their keys are neither claimed nor given up.
 * @param account a placeholder or column of the statement
 */
export const reservationsOf = (account: string): string => `(
  SELECT bytes, duration_ms FROM object_removals
  WHERE account_id = ${account} AND attempts = 0 AND remove_after > now())`;

/**
 * Takes a reserved object off the list, as a part of the statement that inserts the row it belongs to. It returns no row
 * when the reservation has expired and the object may be gone.
 * @param key a placeholder of the statement, such as `$1`
 */
export const claimReservedObject = (key: string): string =>
  `DELETE FROM object_removals WHERE object_key = ${key} AND attempts = 0 RETURNING object_key`;

/** Before an attempt its successor gets its time: after 2 s, 4 s, 8 s and on, up to about an hour. */
const BEGIN_ATTEMPT = `attempts = attempts + 1,
  remove_after = now() + make_interval(secs => least(3600, 2 ^ least(attempts + 1, 12)))`;

/**
 * Begins the removal of an object that is due, in a statement of its own, so that no connection waits for the store.
 * SQL, because the clock of the database decides.
 * @returns false when it is not due, or another process has begun.
 */
export async function beginRemoval(runner: SqlRunner, key: string): Promise<boolean> {
  const rows = await runner.query(
    `UPDATE object_removals SET ${BEGIN_ATTEMPT} WHERE object_key = $1 AND remove_after <= now() RETURNING 1`,
    [key],
  );
  return rows.length > 0;
}

/** As `beginRemoval`, for the objects that have been due for longest. SQL for the same reason. */
export async function beginDueRemovals(runner: SqlRunner, limit: number): Promise<string[]> {
  const rows = await runner.query<Pick<ObjectRemoval, 'objectKey'>>(
    `UPDATE object_removals SET ${BEGIN_ATTEMPT}
     WHERE object_key = ANY (ARRAY(
       SELECT object_key FROM object_removals WHERE remove_after <= now()
       ORDER BY remove_after LIMIT $1 FOR UPDATE SKIP LOCKED))
     RETURNING object_key AS "objectKey"`,
    [limit],
  );
  return rows.map(({ objectKey }) => objectKey);
}
