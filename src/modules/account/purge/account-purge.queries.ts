import type { SqlRunner, Tx } from '../../../platform/database/database.service.js';

/** A table whose rows belong to an account, by a foreign key. */
export interface AccountTable {
  /** Quoted where that is needed, as are the columns. */
  name: string;
  column: string;
}

/**
 * Those that can be found by their account, those of extensions too: the column is the first of an index. The rows of the
 * others go with what they belong to, or in the end with the account. SQL, because the catalogue of Postgres tells it.
 */
export async function selectAccountTables(runner: SqlRunner): Promise<AccountTable[]> {
  return await runner.query<AccountTable>(
    `SELECT conrelid::regclass::text AS name, quote_ident(attname) AS column
     FROM pg_constraint c JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
     WHERE contype = 'f' AND confrelid = 'accounts'::regclass AND cardinality(conkey) = 1 AND EXISTS (
       SELECT FROM pg_index WHERE indrelid = conrelid AND indkey[0] = conkey[1] AND indpred IS NULL AND indisvalid)
     ORDER BY 1`,
  );
}

/** SQL, because the name of the table is data. */
export async function countRowsOf(
  runner: SqlRunner,
  { name, column }: AccountTable,
  accountId: string,
): Promise<number> {
  const [row] = await runner.query<{ count: number }>(
    `SELECT count(*)::float8 AS count FROM ${name} WHERE ${column} = $1`,
    [accountId],
  );
  return row?.count ?? 0;
}

/** SQL, because TypeORM's DELETE has no LIMIT. @returns how many. */
export async function deleteRowsOf(
  runner: SqlRunner,
  { name, column }: AccountTable,
  accountId: string,
  limit: number,
): Promise<number> {
  const gone = await runner.query(
    `DELETE FROM ${name} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${name} WHERE ${column} = $1 LIMIT $2)) RETURNING 1`,
    [accountId, limit],
  );
  return gone.length;
}

/** Puts their objects on the list of those to remove, in the same statement: hence SQL. @returns how many. */
export async function deleteRecordingsOf(runner: SqlRunner, accountId: string, limit: number): Promise<number> {
  const gone = await runner.query(
    `WITH gone AS (
       DELETE FROM recordings WHERE id IN (SELECT id FROM recordings WHERE account_id = $1 LIMIT $2)
       RETURNING object_key)
     INSERT INTO object_removals (object_key, remove_after) SELECT object_key, now() FROM gone RETURNING object_key`,
    [accountId, limit],
  );
  return gone.length;
}

/** Due, or begun by a worker: no upload can claim those. SQL, because the clock of the database decides. */
export async function selectDueObjectsOf(runner: SqlRunner, accountId: string, limit: number): Promise<string[]> {
  const rows = await runner.query<{ key: string }>(
    `SELECT object_key AS key FROM object_removals WHERE starts_with(object_key, $1) AND (remove_after <= now() OR attempts > 0)
     LIMIT $2`,
    [`${accountId}/`, limit],
  );
  return rows.map(({ key }) => key);
}

/** SQL, because many keys are one parameter. */
export async function deleteRemovals(runner: SqlRunner, keys: readonly string[]): Promise<void> {
  await runner.query('DELETE FROM object_removals WHERE object_key = ANY ($1)', [keys]);
}

/** Those that are due, and reservations of uploads under way. SQL, because TypeORM has no `starts_with`. */
export async function countRemovalsOf(runner: SqlRunner, accountId: string): Promise<number> {
  const [row] = await runner.query<{ count: number }>(
    'SELECT count(*)::float8 AS count FROM object_removals WHERE starts_with(object_key, $1)',
    [`${accountId}/`],
  );
  return row?.count ?? 0;
}

/**
 * Deletes the account, unless an upload that was under way has committed a recording meanwhile. SQL, because the row is
 * locked first: from then on no row can refer to it. @returns whether it is gone.
 */
export async function deleteEmptyAccount(tx: Tx, accountId: string): Promise<boolean> {
  await tx.query('SELECT 1 FROM accounts WHERE id = $1 FOR UPDATE', [accountId]);
  const left = await tx.query('SELECT 1 FROM recordings WHERE account_id = $1 LIMIT 1', [accountId]);
  if (left.length > 0) return false;
  await tx.query('DELETE FROM accounts WHERE id = $1', [accountId]);
  return true;
}
