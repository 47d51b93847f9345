import type { SqlRunner, Tx } from './database.service.js';

/** A table whose rows are leased: who has the token of a row may work on it until a time. */
export interface LeasedTable {
  table: string;
  /** Columns. While nobody has the token, the second is the time from which on a row is due. */
  token: string;
  until: string;
}

export interface HeldLease {
  recordingId: string;
  leaseToken: string;
}

const IS_HELD = ({ token }: LeasedTable): string => `recording_id = $1 AND ${token} = $2`;

/** SQL, because of the clock of the database. @returns whether the lease is still held. */
export async function renewLease(
  runner: SqlRunner,
  leased: LeasedTable,
  { recordingId, leaseToken }: HeldLease,
  leaseSeconds: number,
): Promise<boolean> {
  const rows = await runner.prepared(
    `UPDATE ${leased.table} SET ${leased.until} = clock_timestamp() + make_interval(secs => $3)
     WHERE ${IS_HELD(leased)} RETURNING 1`,
    [recordingId, leaseToken, leaseSeconds],
  );
  return rows.length > 0;
}

/** Ends the lease; the next attempt is later. SQL as above. */
export async function releaseLease(
  runner: SqlRunner,
  leased: LeasedTable,
  { recordingId, leaseToken }: HeldLease,
  delaySeconds: number,
): Promise<void> {
  const { table, token, until } = leased;
  await runner.query(
    `UPDATE ${table} SET ${token} = NULL, ${until} = now() + make_interval(secs => $3) WHERE ${IS_HELD(leased)}`,
    [recordingId, leaseToken, delaySeconds],
  );
}

/** Locks the row until the end of `tx`. @returns whether the lease is still held. */
export async function lockLeased(
  tx: Tx,
  leased: LeasedTable,
  { recordingId, leaseToken }: HeldLease,
): Promise<boolean> {
  const rows = await tx.query(`SELECT 1 FROM ${leased.table} WHERE ${IS_HELD(leased)} FOR UPDATE`, [
    recordingId,
    leaseToken,
  ]);
  return rows.length > 0;
}

/** Due rows considered of each account: more than one, because another process may be claiming the first. */
const HEADS = 8;

/**
 * The beginning of a statement that claims a due row, whose key is in `picked`: the account with the fewest leases gets its
 * longest due one. The accounts are found by one probe of the index each. `$3` are accounts that get none.
 * @param condition on an account `a.id`
 */
export const pickDue = ({ table, token, until }: LeasedTable, condition = 'true'): string => `
  WITH RECURSIVE waiting AS (
    (SELECT account_id AS id FROM ${table} WHERE ${until} IS NOT NULL ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT (SELECT l.account_id FROM ${table} l WHERE l.${until} IS NOT NULL AND l.account_id > a.id
            ORDER BY l.account_id LIMIT 1)
    FROM waiting a WHERE a.id IS NOT NULL),
  picked AS MATERIALIZED (
    SELECT l.recording_id
    FROM waiting a
    CROSS JOIN LATERAL (
      SELECT count(*) AS leases FROM ${table} WHERE account_id = a.id AND ${until} > now() AND ${token} IS NOT NULL) busy
    CROSS JOIN LATERAL (
      SELECT recording_id, ${until} AS due_at FROM ${table}
      WHERE account_id = a.id AND ${until} <= now() ORDER BY ${until} LIMIT ${HEADS}) head
    JOIN ${table} l ON l.recording_id = head.recording_id AND l.${until} <= now()
    WHERE a.id <> ALL($3::uuid[]) AND ${condition}
    ORDER BY busy.leases, head.due_at LIMIT 1 FOR UPDATE OF l SKIP LOCKED)`;
