import { accountNotOnHold } from '../../../../access/accounts.queries.js';
import type { SqlRunner } from '../../../../platform/database/database.service.js';

/** Of each index, the recordings that are looked at. */
const LOOKED_AT = 10_000;
/** A restart of the workers is no reason for an alarm. */
const GRACE_SECONDS = 60;

/** Whether one of the engines $1 may transcribe recording `r` of account `a`. Without a chain of its own, any worker may. */
const IS_SERVED = `CASE
  WHEN r.requested_engine IS NOT NULL THEN r.requested_engine = ANY ($1::text[])
  WHEN a.engines IS NOT NULL THEN EXISTS (
    SELECT FROM jsonb_array_elements(a.engines) AS own WHERE own ->> 'name' = ANY ($1::text[]))
  ELSE cardinality($1::text[]) > 0 END`;

const REQUESTED = `(status = 'processing' OR rerun = 'requested')`;
const COLUMNS = 'account_id, requested_engine, coalesce(rerun_at, created_at) AS queued_at';

/**
 * Recordings that have waited for a minute, and that none of these engines may transcribe. SQL, because of the clock of
 * the database and the table of another module; each half has an index, whose order keeps Postgres from reading all
 * recordings instead.
 */
export async function countUnserved(runner: SqlRunner, running: readonly string[]): Promise<number> {
  const [row] = await runner.prepared<{ count: number }>(
    `SELECT count(*)::int AS count FROM (
       (SELECT ${COLUMNS} FROM recordings WHERE ${REQUESTED} AND lease_until IS NULL ORDER BY account_id LIMIT ${LOOKED_AT})
       UNION ALL
       (SELECT ${COLUMNS} FROM recordings WHERE ${REQUESTED} AND lease_until IS NOT NULL AND lease_token IS NULL
        ORDER BY account_id LIMIT ${LOOKED_AT})) r
     JOIN accounts a ON a.id = r.account_id
     WHERE r.queued_at < now() - make_interval(secs => ${GRACE_SECONDS}) AND ${accountNotOnHold('a.id')}
       AND NOT (${IS_SERVED})`,
    [running],
  );
  return row?.count ?? 0;
}

/** Whether a recording waits, and none of these engines may transcribe it. SQL, because of the table of another module. */
export async function isUnserved(runner: SqlRunner, id: string, running: readonly string[]): Promise<boolean> {
  const rows = await runner.prepared(
    `SELECT 1 FROM recordings r JOIN accounts a ON a.id = r.account_id
     WHERE r.id = $2 AND (r.status = 'processing' OR r.rerun IS NOT NULL) AND r.lease_token IS NULL AND NOT (${IS_SERVED})`,
    [running, id],
  );
  return rows.length > 0;
}
