import { accountNotOnHold } from '../../../access/accounts.queries.js';
import type { SqlRunner, Tx } from '../../../platform/database/database.service.js';

const IN_BACKGROUND = `rerun IN ('background', 'quiet')`;

export interface NewRetranscription {
  jobId: string;
  /** Null: every account. */
  accountId: string | null;
  modelNot: string;
  /** `YYYY-MM-DD`, a UTC day. */
  since: string;
  rate: number | null;
  quiet: boolean;
}

/**
 * Begins one for each account that has such recordings and none that has not ended. SQL, because one statement counts and
 * inserts. @returns the accounts with their counts.
 */
export async function insertRetranscriptions(
  runner: SqlRunner,
  { jobId, accountId, modelNot, since, rate, quiet }: NewRetranscription,
): Promise<{ accountId: string; total: number }[]> {
  return await runner.query(
    `INSERT INTO retranscriptions AS j (account_id, job_id, model_not, created_from, created_until, rate, quiet,
       before_at, before_id, total, marked_at, started_at)
     SELECT r.account_id, $1::uuid, $3, $4::date::timestamp AT TIME ZONE 'UTC', now(), $5::int, $6, now(),
       'ffffffff-ffff-ffff-ffff-ffffffffffff', count(*), now(), now()
     FROM recordings r JOIN transcriptions t ON t.recording_id = r.id
     WHERE ($2::uuid IS NULL OR r.account_id = $2) AND r.status = 'transcribed' AND t.model <> $3
       AND r.created_at >= $4::date::timestamp AT TIME ZONE 'UTC' AND r.created_at < now()
     GROUP BY r.account_id
     ON CONFLICT ON CONSTRAINT retranscriptions_pkey DO UPDATE SET
       (job_id, model_not, created_from, created_until, rate, quiet, before_at, before_id, total, marked_at, started_at) =
         (excluded.job_id, excluded.model_not, excluded.created_from, excluded.created_until, excluded.rate,
          excluded.quiet, excluded.before_at, excluded.before_id, excluded.total, excluded.marked_at,
          excluded.started_at),
       marked = 0, marked_ms = 0, failed = 0, ended_at = NULL, is_canceled = false
     WHERE j.ended_at IS NOT NULL
     RETURNING account_id AS "accountId", total`,
    [jobId, accountId, modelNot, since, rate, quiet],
  );
}

/** One that has not ended, and how many it may mark now by its rate. */
export interface OpenRetranscription {
  accountId: string;
  jobId: string;
  rate: number | null;
  /** Recordings that are marked and not transcribed yet. */
  pending: number;
  /** Since a recording of its job was marked, at most a minute. */
  seconds: number;
  isMarked: boolean;
}

/** Before the first recording of all. */
const END = '-infinity';

/**
 * Those whose accounts are not on hold, the one with the least audio first. SQL, because of the sums over the recordings
 * and the clock of the database.
 */
export async function selectOpen(runner: SqlRunner): Promise<OpenRetranscription[]> {
  return await runner.query<OpenRetranscription>(
    `WITH pending AS (SELECT account_id, count(*)::int AS count FROM recordings WHERE ${IN_BACKGROUND} GROUP BY 1)
     SELECT j.account_id AS "accountId", j.job_id AS "jobId", j.rate, coalesce(p.count, 0) AS pending,
       least(extract(epoch FROM now() - max(j.marked_at) OVER (PARTITION BY j.job_id)), 60)::float8 AS seconds,
       j.before_at = '${END}' AS "isMarked"
     FROM retranscriptions j LEFT JOIN pending p ON p.account_id = j.account_id
     WHERE j.ended_at IS NULL AND ${accountNotOnHold('j.account_id')}
     ORDER BY j.marked_ms, j.account_id`,
  );
}

export interface Marked {
  marked: number;
  isMarked: boolean;
}

/** Recordings that one statement looks at. */
const SCANNED = 1000;

/**
 * Marks up to `count` recordings of an account, the newest first, and remembers how far it came. One that is locked is
 * being deleted or transcribed, and is left out. SQL, because what it scans, marks and remembers is one snapshot.
 * @returns how many, and whether that was the last.
 */
export async function markNext(tx: Tx, accountId: string, count: number): Promise<Marked> {
  const [row] = await tx.query<Marked>(
    `WITH job AS MATERIALIZED (
       SELECT * FROM retranscriptions WHERE account_id = $1 AND ended_at IS NULL FOR UPDATE),
     scanned AS MATERIALIZED (
       SELECT r.id, r.created_at, t.model <> job.model_not AS matches
       FROM job JOIN recordings r ON r.account_id = $1 AND r.status = 'transcribed'
         AND r.created_at >= job.created_from AND r.created_at < job.created_until
         AND (r.created_at, r.id) < (job.before_at, job.before_id)
       LEFT JOIN transcriptions t ON t.recording_id = r.id
       ORDER BY r.created_at DESC, r.id DESC LIMIT ${SCANNED}),
     chosen AS MATERIALIZED (
       SELECT id, created_at FROM scanned WHERE matches ORDER BY created_at DESC, id DESC LIMIT $2),
     last AS (
       SELECT created_at, id FROM chosen WHERE (SELECT count(*) FROM chosen) = $2
       UNION ALL
       SELECT created_at, id FROM scanned
       WHERE (SELECT count(*) FROM chosen) < $2 AND (SELECT count(*) FROM scanned) = ${SCANNED}
       ORDER BY created_at, id LIMIT 1),
     free AS (
       SELECT r.id FROM recordings r JOIN chosen ON chosen.id = r.id
       WHERE r.status = 'transcribed' AND r.rerun IS NULL ORDER BY r.id FOR NO KEY UPDATE OF r SKIP LOCKED),
     marked AS (
       UPDATE recordings r SET rerun = CASE WHEN job.quiet THEN 'quiet' ELSE 'background' END, rerun_at = now(),
         attempt = 0, faults = 0, requested_engine = NULL
       FROM free, job WHERE r.id = free.id RETURNING r.duration_ms)
     UPDATE retranscriptions j SET
       marked = j.marked + (SELECT count(*) FROM marked),
       marked_ms = j.marked_ms + (SELECT coalesce(sum(duration_ms), 0) FROM marked),
       marked_at = CASE WHEN EXISTS (SELECT 1 FROM marked) THEN now() ELSE j.marked_at END,
       before_at = coalesce((SELECT created_at FROM last), '${END}'), before_id = coalesce((SELECT id FROM last), j.before_id)
     FROM job WHERE j.account_id = job.account_id
     RETURNING (SELECT count(*)::int FROM marked) AS marked, j.before_at = '${END}' AS "isMarked"`,
    [accountId, count],
  );
  return row ?? { marked: 0, isMarked: true };
}

/** SQL, because of the clock of the database. */
export async function endRetranscription(runner: SqlRunner, accountId: string): Promise<void> {
  await runner.query(
    `UPDATE retranscriptions SET ended_at = now()
     WHERE account_id = $1 AND ended_at IS NULL AND before_at = '${END}'
       AND NOT EXISTS (SELECT 1 FROM recordings WHERE account_id = $1 AND ${IN_BACKGROUND})`,
    [accountId],
  );
}

/** SQL, because of the sum. */
export async function countFailure(runner: SqlRunner, accountId: string): Promise<void> {
  await runner.query('UPDATE retranscriptions SET failed = failed + 1 WHERE account_id = $1 AND ended_at IS NULL', [
    accountId,
  ]);
}

/**
 * Ends the jobs of the account, or all, and unmarks what no worker has begun. SQL, because one UPDATE feeds the next.
 * @returns how many accounts.
 */
export async function cancelRetranscriptions(runner: SqlRunner, accountId: string | null): Promise<number> {
  const rows = await runner.query(
    `WITH canceled AS (
       UPDATE retranscriptions SET ended_at = now(), is_canceled = true
       WHERE ended_at IS NULL AND ($1::uuid IS NULL OR account_id = $1) RETURNING account_id),
     unmarked AS (
       UPDATE recordings r SET rerun = NULL, rerun_at = NULL, lease_until = NULL
       FROM canceled WHERE r.account_id = canceled.account_id AND r.rerun IN ('background', 'quiet')
         AND r.lease_token IS NULL)
     SELECT account_id FROM canceled`,
    [accountId],
  );
  return rows.length;
}

export interface RetranscriptionProgress {
  accountId: string;
  modelNot: string;
  rate: number | null;
  quiet: boolean;
  total: number;
  /** Transcribed again, or failed. */
  done: number;
  failed: number;
  /** Marked, and waiting for a worker or being transcribed. */
  pending: number;
  startedAt: Date;
  endedAt: Date | null;
  isCanceled: boolean;
}

/** Jobs of the account, or all. SQL, because of the sums over the recordings. */
export async function selectProgress(runner: SqlRunner, accountId: string | null): Promise<RetranscriptionProgress[]> {
  return await runner.query<RetranscriptionProgress>(
    `WITH pending AS (SELECT account_id, count(*)::int AS count FROM recordings WHERE ${IN_BACKGROUND} GROUP BY 1)
     SELECT j.account_id AS "accountId", model_not AS "modelNot", rate, quiet, total,
       marked - coalesce(p.count, 0) AS done, failed, coalesce(p.count, 0) AS pending, started_at AS "startedAt",
       ended_at AS "endedAt", is_canceled AS "isCanceled"
     FROM retranscriptions j LEFT JOIN pending p ON p.account_id = j.account_id
     WHERE $1::uuid IS NULL OR j.account_id = $1 ORDER BY j.started_at, j.account_id`,
    [accountId],
  );
}
