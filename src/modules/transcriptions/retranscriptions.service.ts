import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { accountNotOnHold, isTestAccount } from '../../access/accounts.queries.js';
import { DatabaseService, type SqlRunner, type Tx } from '../../platform/database/database.service.js';

export interface NewRetranscription {
  /** Null: every account. */
  accountId: string | null;
  modelNot: string;
  /** `YYYY-MM-DD`, a UTC day. */
  since: string;
  rate: number | null;
  quiet: boolean;
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

/** One that has not ended, and how many it may mark now by its rate. */
interface OpenRetranscription {
  accountId: string;
  jobId: string;
  rate: number | null;
  /** Recordings that are marked and not transcribed yet. */
  pending: number;
  /** Since a recording of its job was marked, at most a minute. */
  seconds: number;
  isMarked: boolean;
}

/** Recordings of an account that are marked at a time, so that accounts take turns. */
const BATCH = 10;
/** Marked recordings of all accounts together: more would only wait. */
const MAX_PENDING = 500;
/** In one round of the reconciler, so that its other tasks do not wait. */
const MAX_BATCHES = 200;
/** A slow rate is spread over time: never more wait than belong to so many seconds. */
const MAX_PENDING_SECONDS = 10;
/** Recordings that are looked at in one batch. */
const SCANNED = 1000;

/** Before the first recording of all. */
const END = '-infinity';

const IN_BACKGROUND = `rerun IN ('background', 'quiet')`;

/**
 * Has the recordings of old models transcribed again, behind all others, for an operator (D49): marks them as reruns in the
 * background.
 */
@Injectable()
export class RetranscriptionsService {
  constructor(private readonly database: DatabaseService) {}

  /**
   * Begins one for each account that has such recordings and none that has not ended. SQL, because one statement counts and
   * inserts. @returns the accounts with their counts.
   */
  async begin(command: NewRetranscription): Promise<{ accountId: string; total: number }[]> {
    const { accountId, modelNot, since, rate, quiet } = command;
    // A transaction, because behind a pooler only one of a command has no time limit.
    return await this.database.transact((tx) =>
      tx.query(
        `INSERT INTO retranscriptions AS j (account_id, job_id, model_not, created_from, created_until, rate, quiet,
           before_at, before_id, total, marked_at, started_at)
         SELECT r.account_id, $1::uuid, $3, $4::date::timestamp AT TIME ZONE 'UTC', now(), $5::int, $6, now(),
           'ffffffff-ffff-ffff-ffff-ffffffffffff', count(*), now(), now()
         FROM recordings r JOIN transcriptions t ON t.recording_id = r.id
         WHERE ($2::uuid IS NULL AND NOT ${isTestAccount('r.account_id')} OR r.account_id = $2) AND r.status = 'transcribed' AND t.model <> $3
           AND r.audio_deleted_at IS NULL
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
        [uuidv7(), accountId, modelNot, since, rate, quiet],
      ),
    );
  }

  /** Those of the account, or all. SQL, because of the sums over the recordings. */
  async progress(accountId: string | null): Promise<RetranscriptionProgress[]> {
    return await this.database.query<RetranscriptionProgress>(
      `WITH pending AS (SELECT account_id, count(*)::int AS count FROM recordings WHERE ${IN_BACKGROUND} GROUP BY 1)
       SELECT j.account_id AS "accountId", model_not AS "modelNot", rate, quiet, total,
         marked - coalesce(p.count, 0) AS done, failed, coalesce(p.count, 0) AS pending, started_at AS "startedAt",
         ended_at AS "endedAt", is_canceled AS "isCanceled"
       FROM retranscriptions j LEFT JOIN pending p ON p.account_id = j.account_id
       WHERE $1::uuid IS NULL OR j.account_id = $1 ORDER BY j.started_at, j.account_id`,
      [accountId],
    );
  }

  /**
   * Ends those of the account, or all, and unmarks what no worker has begun. SQL, because one UPDATE feeds the next.
   * @returns of how many accounts.
   */
  async cancel(accountId: string | null): Promise<number> {
    const rows = await this.database.query(
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

  /** SQL, because of the sum. */
  async countFailure(tx: Tx, accountId: string): Promise<void> {
    await tx.query('UPDATE retranscriptions SET failed = failed + 1 WHERE account_id = $1 AND ended_at IS NULL', [
      accountId,
    ]);
  }

  /** For the reconciler: marks what fits, account by account, those with the least audio first. */
  async continueAll(): Promise<void> {
    const open = await selectOpen(this.database);
    const budgets = budgetsOf(open);
    let remaining = MAX_PENDING - sumOf(open);
    let turn = open.filter(({ isMarked }) => !isMarked);
    for (let batches = 0; turn.length > 0 && batches < MAX_BATCHES;) {
      const unfinished: OpenRetranscription[] = [];
      for (const job of turn) {
        const budget = budgets.get(job.jobId) ?? 0;
        const count = Math.min(BATCH, remaining, budget);
        if (count < 1) continue;
        batches++;
        const { marked, isMarked } = await this.database.transact((tx) => markNext(tx, job.accountId, count));
        remaining -= marked;
        budgets.set(job.jobId, budget - marked);
        if (!isMarked) unfinished.push(job);
      }
      turn = unfinished;
    }
    for (const { accountId, isMarked, pending } of open) {
      if (isMarked && pending === 0) await endRetranscription(this.database, accountId);
    }
  }
}

const sumOf = (jobs: readonly OpenRetranscription[]): number => jobs.reduce((sum, { pending }) => sum + pending, 0);

/** Recordings that each job may mark now. */
function budgetsOf(open: readonly OpenRetranscription[]): Map<string, number> {
  const budgets = new Map<string, number>();
  for (const { jobId, rate, seconds } of open) {
    if (budgets.has(jobId)) continue;
    const pending = sumOf(open.filter((job) => job.jobId === jobId));
    const mostPending = Math.max(1, Math.ceil(((rate ?? 0) * MAX_PENDING_SECONDS) / 60));
    const budget = rate === null ? MAX_PENDING : Math.min(Math.floor((rate * seconds) / 60), mostPending - pending);
    budgets.set(jobId, budget);
  }
  return budgets;
}

/**
 * Those whose accounts are not on hold, the one with the least audio first. SQL, because of the sums over the recordings
 * and the clock of the database.
 */
async function selectOpen(runner: SqlRunner): Promise<OpenRetranscription[]> {
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

interface Marked {
  marked: number;
  isMarked: boolean;
}

interface Scanned {
  id: string;
  /** As text, because a `Date` has no microseconds. */
  createdAt: string;
  /** Whether it is a recording of another model. */
  matches: boolean;
}

/**
 * Marks up to `count` recordings of an account, the newest first, and remembers how far it came.
 * @returns how many, and whether that was the last.
 */
async function markNext(tx: Tx, accountId: string, count: number): Promise<Marked> {
  const [job] = await tx.query<{ quiet: boolean }>(
    'SELECT quiet FROM retranscriptions WHERE account_id = $1 AND ended_at IS NULL FOR UPDATE',
    [accountId],
  );
  if (!job) return { marked: 0, isMarked: true };
  const scanned = await selectNext(tx, accountId);
  const chosen = scanned.filter(({ matches }) => matches).slice(0, count);
  const marked = await markAll(tx, chosen, job.quiet ? 'quiet' : 'background');
  const last = chosen.length === count ? chosen.at(-1) : scanned[SCANNED - 1];
  const markedMs = marked.reduce((sum, { durationMs }) => sum + durationMs, 0);
  await tx.query(
    `UPDATE retranscriptions SET marked = marked + $2, marked_ms = marked_ms + $3,
       marked_at = CASE WHEN $2 > 0 THEN now() ELSE marked_at END,
       before_at = $4::timestamptz, before_id = coalesce($5::uuid, before_id)
     WHERE account_id = $1`,
    [accountId, marked.length, markedMs, last?.createdAt ?? END, last?.id ?? null],
  );
  return { marked: marked.length, isMarked: !last };
}

/** SQL, because the job says where the recordings begin. */
async function selectNext(tx: Tx, accountId: string): Promise<Scanned[]> {
  return await tx.query<Scanned>(
    `SELECT r.id, r.created_at::text AS "createdAt", coalesce(t.model <> job.model_not, false) AND r.audio_deleted_at IS NULL AS matches
     FROM retranscriptions job JOIN recordings r ON r.account_id = job.account_id AND r.status = 'transcribed'
       AND r.created_at >= job.created_from AND r.created_at < job.created_until
       AND (r.created_at, r.id) < (job.before_at, job.before_id)
     LEFT JOIN transcriptions t ON t.recording_id = r.id
     WHERE job.account_id = $1
     ORDER BY r.created_at DESC, r.id DESC LIMIT ${SCANNED}`,
    [accountId],
  );
}

/** One that is locked is being deleted or transcribed, and is left out. SQL, because of SKIP LOCKED. */
async function markAll(
  tx: Tx,
  recordings: readonly { id: string }[],
  rerun: 'background' | 'quiet',
): Promise<{ durationMs: number }[]> {
  return await tx.query<{ durationMs: number }>(
    `WITH free AS (
       SELECT id FROM recordings WHERE id = ANY($1::uuid[]) AND status = 'transcribed' AND rerun IS NULL
         AND audio_deleted_at IS NULL
       ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
     UPDATE recordings r SET rerun = $2, rerun_at = now(), attempt = 0, faults = 0, requested_engine = NULL
     FROM free WHERE r.id = free.id RETURNING r.duration_ms AS "durationMs"`,
    [recordings.map(({ id }) => id), rerun],
  );
}

/** SQL, because of the clock of the database. */
async function endRetranscription(runner: SqlRunner, accountId: string): Promise<void> {
  await runner.query(
    `UPDATE retranscriptions SET ended_at = now()
     WHERE account_id = $1 AND ended_at IS NULL AND before_at = '${END}'
       AND NOT EXISTS (SELECT 1 FROM recordings WHERE account_id = $1 AND ${IN_BACKGROUND})`,
    [accountId],
  );
}
