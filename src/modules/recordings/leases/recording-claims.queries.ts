import { accountNotOnHold } from '../../../access/accounts.queries.js';
import type { SqlRunner, Tx } from '../../../platform/database/database.service.js';
import { selectList } from '../../../platform/database/statement-parts.js';
import { Recording } from '../recording.entity.js';
import { type Lease, MAX_ATTEMPTS } from './recording-leases.queries.js';

/** Accounts whose recordings are considered, those with the least service first. */
const ACCOUNTS = 16;
/** Recordings considered of each: more than one, because another worker may be claiming the first. */
const HEADS = 8;
/** What a claim costs at least, in milliseconds of audio. */
export const MIN_COST_MS = 1000;

/** Uploads, retries, and what its account has asked to transcribe again. */
const REQUESTED = `(status = 'processing' OR rerun = 'requested')`;
/** Unclaimed, and with the fields of `recordings_queue_idx`. */
const WAITING = `${REQUESTED} AND lease_until IS NULL`;
/** Claimed before, and with the fields of `recordings_claimed_idx`. */
const LEASED = `${REQUESTED} AND lease_until IS NOT NULL`;
/** Place in the queue of the account. */
const QUEUED_AT = 'coalesce(rerun_at, created_at)';
/** The lease has expired or the delay is over. */
const EXPIRED = `${LEASED} AND lease_until < now() AND attempt < ${MAX_ATTEMPTS}`;

/** The SET of an UPDATE with the token and its seconds as its first parameters. */
const TAKE_LEASE = `SET lease_token = $1, attempt = attempt + 1,
  lease_until = clock_timestamp() + make_interval(secs => $2)`;

/** The leases of the rows in `claimed`. */
const LEASES = `
  SELECT ${selectList(Recording, 'r')}, a.vocabulary AS "accountVocabulary", a.engines AS "accountEngines",
    a.test_of IS NOT NULL AS "isTest", a.plan, extract(epoch FROM now() - r.created_at)::float8 AS "ageSeconds",
    r.taken_over AS "isTakenOver"
  FROM claimed r JOIN accounts a ON a.id = r.account_id`;

/** Conditions that a claim may have beside its own. */
interface ClaimConditions {
  /** Limits and filters the accounts that are considered. */
  limit: string;
  account: string;
  recording: string;
}

/**
 * Start-time fair queueing (Goyal, Vin, Cheng 1996). `virtual_end` is the audio that an account was given. An account
 * that had nothing to do starts at the latest `virtual_start`, so that it has no credit for that time.
 */
const claimSql = ({ limit, account, recording }: ClaimConditions): string => `
  WITH turns AS MATERIALIZED (
    SELECT s.account_id, greatest(s.virtual_end, (SELECT max(virtual_start) FROM transcription_shares), 0) AS starts
    FROM transcription_shares s
    CROSS JOIN LATERAL (
      (SELECT FROM recordings WHERE account_id = s.account_id AND ${WAITING} LIMIT 1)
      UNION ALL
      (SELECT FROM recordings WHERE account_id = s.account_id AND ${EXPIRED} LIMIT 1)
      LIMIT 1) due
    WHERE s.is_waiting AND s.account_id <> ALL($3::uuid[]) AND ${accountNotOnHold('s.account_id')} ${account}
    ORDER BY s.virtual_end LIMIT ${limit}),
  picked AS MATERIALIZED (
    SELECT r.id, turns.starts, r.lease_token IS NOT NULL AS taken_over
    FROM turns
    CROSS JOIN LATERAL (
      (SELECT id, ${QUEUED_AT} AS queued_at FROM recordings
       WHERE account_id = turns.account_id AND ${WAITING} AND attempt < ${MAX_ATTEMPTS} ${recording}
       ORDER BY ${QUEUED_AT}, id LIMIT ${HEADS})
      UNION ALL
      (SELECT id, ${QUEUED_AT} FROM recordings
       WHERE account_id = turns.account_id AND ${EXPIRED} AND id <> ALL($4::uuid[]) ${recording}
       ORDER BY lease_until LIMIT ${HEADS})) head
    JOIN recordings r ON r.id = head.id
      AND (r.status = 'processing' OR r.rerun = 'requested') AND (r.lease_until IS NULL OR r.lease_until < now())
    ORDER BY turns.starts, head.queued_at, head.id LIMIT 1 FOR UPDATE OF r SKIP LOCKED),
  claimed AS (
    UPDATE recordings r ${TAKE_LEASE} FROM picked WHERE r.id = picked.id
    RETURNING r.*, picked.starts, picked.taken_over),
  charged AS (
    INSERT INTO transcription_shares AS s (account_id, virtual_start, virtual_end)
    SELECT account_id, starts, starts + greatest(duration_ms, ${MIN_COST_MS}) FROM claimed
    ON CONFLICT ON CONSTRAINT transcription_shares_pkey DO UPDATE SET virtual_start = excluded.virtual_start,
      virtual_end = greatest(s.virtual_end, excluded.virtual_start) + excluded.virtual_end - excluded.virtual_start)
  ${LEASES}`;

const CLAIM = claimSql({ limit: `${ACCOUNTS}`, account: '', recording: '' });

/** What decides, beside the length, which engines a recording may have; `spokenKey` says the same. */
const SPOKEN = `nullif(concat_ws(' ', CASE WHEN recordings.translate THEN 'translate' END, recordings.language,
             array_to_string(recordings.languages, ',')), '')`;

/** The same of a lease; null when nothing decides. */
export const spokenKey = ({
  translate,
  language,
  languages,
}: {
  translate?: boolean;
  language: string | null;
  languages?: readonly string[] | null;
}): string | null => [translate && 'translate', language, languages?.join(',')].filter(Boolean).join(' ') || null;

/** While some engines of this process do not work. Accounts that are left with nothing take no turn from the others. */
const CLAIM_WORKABLE = claimSql({
  limit: `${ACCOUNTS} + cardinality($6::uuid[])`,
  account: `AND (NOT $5 OR EXISTS (
      SELECT FROM accounts own WHERE own.id = s.account_id AND (own.engines IS NOT NULL OR own.test_of IS NOT NULL)))`,
  recording: `AND NOT EXISTS (
         SELECT FROM unnest($6::uuid[], $7::text[], $8::integer[]) AS postponed (account_id, spoken, min_ms)
         WHERE postponed.account_id = recordings.account_id AND recordings.duration_ms >= postponed.min_ms
           AND postponed.spoken IS NOT DISTINCT FROM ${SPOKEN} AND recordings.requested_engine IS NULL)`,
});

/** What each claim is made with. */
export interface NewLease {
  leaseToken: string;
  leaseSeconds: number;
  /** Recordings that the worker holds. It still works on them when Postgres was silent for longer than a lease. */
  held: readonly string[];
}

/** What a worker does not claim, because none of its engines can transcribe it now. */
export interface UnworkableRecordings {
  /** Then none of an account without engines of its own, unless it is a test account. */
  sharedEnginesDown: boolean;
  /** By account and what is spoken as `spokenKey` writes it, from a length on. */
  others: readonly { accountId: string; spoken: string | null; minDurationMs: number }[];
}

/**
 * Claims the oldest due recording of the account that has had the least audio transcribed, and charges the account for
 * it. One statement, so that no lock is held between two. `transcription_shares_waiting_idx` has the accounts that wait in
 * the order of their turns, and the first 16 of them are looked at. So the cost grows neither with the accounts nor with
 * their recordings, but for those that the worker cannot work on. SQL, because TypeORM cannot say that.
 */
export async function claimFairest(
  runner: SqlRunner,
  claim: NewLease & { exceptAccounts: readonly string[]; except?: UnworkableRecordings },
): Promise<Lease | null> {
  const parameters = [claim.leaseToken, claim.leaseSeconds, claim.exceptAccounts, claim.held];
  const { sharedEnginesDown = false, others = [] } = claim.except ?? {};
  const [lease] =
    sharedEnginesDown || others.length > 0
      ? await runner.prepared<Lease>(CLAIM_WORKABLE, [
          ...parameters,
          sharedEnginesDown,
          others.map(({ accountId }) => accountId),
          others.map(({ spoken }) => spoken),
          others.map(({ minDurationMs }) => minDurationMs),
        ])
      : await runner.prepared<Lease>(CLAIM, parameters);
  return lease ?? null;
}

const CLAIM_BACKGROUND = `
  WITH picked AS (
    SELECT id, lease_token IS NOT NULL AS taken_over FROM recordings r
    WHERE rerun IN ('background', 'quiet') AND (lease_until IS NULL OR lease_until < now())
      AND id <> ALL($3::uuid[]) AND attempt < ${MAX_ATTEMPTS} AND ${accountNotOnHold('r.account_id')}
    ORDER BY rerun_at, id LIMIT 1 FOR UPDATE OF r SKIP LOCKED),
  claimed AS (UPDATE recordings r ${TAKE_LEASE} FROM picked WHERE r.id = picked.id
    RETURNING r.*, picked.taken_over)
  ${LEASES}`;

/**
 * Claims the next of those that the operator has transcribed again. Which accounts take turns was decided when they were
 * marked, and none is charged: what its account uploads must not wait for it. SQL, because it locks, updates and reads at once.
 */
export async function claimBackground(
  runner: SqlRunner,
  { leaseToken, leaseSeconds, held }: NewLease,
): Promise<Lease | null> {
  const [lease] = await runner.prepared<Lease>(CLAIM_BACKGROUND, [leaseToken, leaseSeconds, held]);
  return lease ?? null;
}

/** Counted of each account: a longer queue is as urgent, and counting it would take longer. */
const COUNTED = 10_000;

const QUEUE = `
  SELECT coalesce(sum(queue.length), 0)::int AS length, coalesce(sum(queue.audio), 0)::float8 / 1000 AS "audioSeconds",
    coalesce(extract(epoch FROM now() - min(queue.oldest)), 0)::float8 AS "oldestSeconds"
  FROM transcription_shares w CROSS JOIN LATERAL (
    SELECT count(*) AS length, sum(duration_ms) AS audio, min(queued_at) AS oldest
    FROM (SELECT ${QUEUED_AT} AS queued_at, duration_ms FROM recordings
          WHERE account_id = w.account_id AND ${WAITING} ORDER BY ${QUEUED_AT}, id LIMIT ${COUNTED}) head) queue
  WHERE w.is_waiting AND ${accountNotOnHold('w.account_id')}`;

/** The recordings that no worker has claimed, but for those of suspended accounts and those in the background. */
export interface RecordingQueue {
  length: number;
  /** Of all of them together. */
  audioSeconds: number;
  /** How long the oldest has waited. */
  oldestSeconds: number;
}

/** SQL, because of the bounded count of each account. */
export async function readQueue(runner: SqlRunner): Promise<RecordingQueue> {
  const [queue] = await runner.prepared<RecordingQueue>(QUEUE, []);
  return queue as RecordingQueue;
}

/** Recordings of an account in progress, or between two attempts, that are looked at. */
const IN_PROGRESS = 1000;

const OLDEST = `
  SELECT a.plan, extract(epoch FROM now() - min(unprocessed.queued_at))::float8 AS "oldestSeconds"
  FROM transcription_shares w JOIN accounts a ON a.id = w.account_id AND a.test_of IS NULL
  CROSS JOIN LATERAL (
    (SELECT ${QUEUED_AT} AS queued_at FROM recordings
     WHERE account_id = w.account_id AND ${WAITING} ORDER BY ${QUEUED_AT}, id LIMIT 1)
    UNION ALL
    (SELECT ${QUEUED_AT} FROM recordings
     WHERE account_id = w.account_id AND ${LEASED} AND lease_until < 'infinity'
     ORDER BY lease_until LIMIT ${IN_PROGRESS})) unprocessed
  WHERE w.is_waiting AND ${accountNotOnHold('w.account_id')} GROUP BY a.plan`;

/** Of a plan, the recording that has been without its text for longest. */
export interface OldestUnprocessed {
  plan: string;
  oldestSeconds: number;
}

/**
 * The recordings that wait, are in progress, or wait for another attempt, but for those of suspended and of test accounts,
 * those in the background, and links whose file is not there yet. One probe and the leases of each account that waits. SQL,
 * because of the bounded looks into two indexes.
 */
export async function readOldestUnprocessed(runner: SqlRunner): Promise<OldestUnprocessed[]> {
  return await runner.prepared<OldestUnprocessed>(OLDEST, []);
}

/** Whether anything of the account waits or is leased: a look into each of the two indexes. */
const HAS_NOTHING = `NOT EXISTS (SELECT FROM recordings WHERE account_id = s.account_id AND ${WAITING})
  AND NOT EXISTS (SELECT FROM recordings WHERE account_id = s.account_id AND ${LEASED})`;

/**
 * Unmarks accounts that have nothing to transcribe any more. A trigger marks an account when a recording of it comes into
 * the queue, and holds the row until its commit: those rows are left out here. What was committed before the lock is seen by
 * the second statement, which has a snapshot of its own. SQL, because of the locks.
 * @returns how many were looked at.
 */
export async function unmarkIdleAccounts(tx: Tx, limit: number): Promise<number> {
  const idle = await tx.query<{ id: string }>(
    `SELECT account_id AS id FROM transcription_shares s WHERE is_waiting AND ${HAS_NOTHING}
     LIMIT $1 FOR UPDATE SKIP LOCKED`,
    [limit],
  );
  if (idle.length === 0) return 0;
  await tx.query(
    `UPDATE transcription_shares s SET is_waiting = false WHERE account_id = ANY ($1::uuid[]) AND ${HAS_NOTHING}`,
    [idle.map(({ id }) => id)],
  );
  return idle.length;
}
