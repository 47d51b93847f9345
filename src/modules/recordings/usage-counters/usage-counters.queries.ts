import { repeatWhileFull } from '../../../platform/queue/reconciler.service.js';
import type { SqlRunner } from '../../../platform/database/database.service.js';
import type { Recording, RecordingStatus, Rerun } from '../recording.entity.js';
import type { UsageCounterDelta } from './usage-counters.entities.js';

/**
 * The counters of an account for each UTC day of creation and status. List totals and monthly usage are sums of them.
 * A change only inserts deltas, in its own transaction, so no row is contended and nothing can deadlock. A reader adds
 * counters and deltas in one statement, which sees one snapshot (docs/decisions/0004).
 */
type CountedRecording = Pick<
  Recording,
  'accountId' | 'createdAt' | 'fileSizeBytes' | 'durationMs' | 'keyId' | 'userId'
>;
type Figures = Pick<
  UsageCounterDelta,
  'listed' | 'accepted' | 'durationMs' | 'bytes' | 'queuedMs' | 'transcribed' | 'failed'
>;

const NO_CHANGE: Figures = { listed: 0, accepted: 0, durationMs: 0, bytes: 0, queuedMs: 0, transcribed: 0, failed: 0 };

/** Columns of figures that all tables of counters have. */
export const BREAKDOWN_FIGURES = ['accepted', 'transcribed', 'failed', 'duration_ms', 'bytes'] as const;
/** Those of the counters by day and status. */
export const FIGURE_COLUMNS = [...BREAKDOWN_FIGURES, 'listed', 'queued_ms'] as const;
const COLUMNS = FIGURE_COLUMNS.join(', ');

/** Counts the new recordings in the CTE `accepted`. A part of the statement that inserts them. */
export const COUNT_ACCEPTED = `
  INSERT INTO usage_counter_deltas
    (account_id, day, status, listed, accepted, duration_ms, bytes, queued_ms, key_id, user_id)
  SELECT account_id, (created_at AT TIME ZONE 'UTC')::date, status, 1, 1, duration_ms, file_size_bytes, duration_ms,
    key_id, user_id
  FROM accepted
  RETURNING account_id`;

/** @param durationMs by how much the duration changed as well; `recording` has the duration after it. */
export async function countStatusChange(
  runner: SqlRunner,
  recording: CountedRecording,
  from: RecordingStatus,
  to: RecordingStatus,
  durationMs: number,
): Promise<void> {
  const queuedMs = (status: RecordingStatus, ms: number): number => (status === 'processing' ? ms : 0);
  const left = queuedMs(from, -(recording.durationMs - durationMs));
  await insertDelta(runner, recording, from, { ...endedAs(from, -1), listed: -1, queuedMs: left });
  await insertDelta(runner, recording, to, {
    ...endedAs(to, 1),
    listed: 1,
    durationMs,
    queuedMs: queuedMs(to, recording.durationMs),
  });
}

/** While it is `processing`. @param durationMs by how much the duration changed. */
export async function countDurationChange(
  runner: SqlRunner,
  recording: CountedRecording,
  durationMs: number,
): Promise<void> {
  await insertDelta(runner, recording, 'processing', { durationMs, queuedMs: durationMs });
}

/** The file of a recording that counted without one. */
export async function countFetchedAudio(runner: SqlRunner, recording: CountedRecording): Promise<void> {
  const { durationMs, fileSizeBytes: bytes } = recording;
  await insertDelta(runner, recording, 'processing', { durationMs, bytes, queuedMs: durationMs });
}

function endedAs(status: RecordingStatus, count: number): Partial<Figures> {
  return status === 'processing' ? {} : { [status]: count };
}

/** A rerun that the account asks for waits in its queue, and is audio of the day on which it asks (D49). */
export async function countRerun(runner: SqlRunner, recording: CountedRecording): Promise<void> {
  const { durationMs } = recording;
  await insertDelta(runner, recording, 'transcribed', { queuedMs: durationMs });
  await insertDelta(runner, { ...recording, createdAt: new Date() }, 'transcribed', { durationMs });
}

/** @param durationMs by how much the duration changed; `recording` has the duration after it. */
export async function countRerunEnd(
  runner: SqlRunner,
  recording: CountedRecording,
  rerun: Rerun,
  durationMs: number,
): Promise<void> {
  const left = rerun === 'requested' ? durationMs - recording.durationMs : 0;
  if (left === 0 && durationMs === 0) return;
  await insertDelta(runner, recording, 'transcribed', { durationMs, queuedMs: left });
}

/** Usage stays counted; the list total, the stored bytes and the queue go down (D8, D32). */
export async function countDeletion(
  runner: SqlRunner,
  recording: CountedRecording & Pick<Recording, 'status' | 'rerun' | 'audioDeletedAt'>,
): Promise<void> {
  const { status, rerun, durationMs } = recording;
  const isQueued = status === 'processing' || rerun === 'requested';
  await insertDelta(runner, recording, status, {
    listed: -1,
    bytes: recording.audioDeletedAt === null ? -recording.fileSizeBytes : 0,
    queuedMs: isQueued ? -durationMs : 0,
  });
}

/** Of a recording of which nothing came: as if it had never been accepted. */
export async function countDiscarded(runner: SqlRunner, recording: CountedRecording): Promise<void> {
  await insertDelta(runner, recording, 'processing', { listed: -1, accepted: -1 });
}

/** SQL, because Postgres computes the UTC day, as it does for every other counter. */
async function insertDelta(
  runner: SqlRunner,
  { accountId, createdAt, keyId, userId }: CountedRecording,
  status: RecordingStatus,
  change: Partial<Figures>,
): Promise<void> {
  const { listed, accepted, durationMs, bytes, queuedMs, transcribed, failed } = { ...NO_CHANGE, ...change };
  await runner.prepared(
    `INSERT INTO usage_counter_deltas
       (account_id, day, status, listed, accepted, duration_ms, bytes, queued_ms, transcribed, failed, key_id, user_id)
     VALUES ($1, ($2::timestamptz AT TIME ZONE 'UTC')::date, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [accountId, createdAt, status, listed, accepted, durationMs, bytes, queuedMs, transcribed, failed, keyId, userId],
  );
}

/**
 * A sub-select of the counters and deltas of an account; the caller adds conditions on `day` and `status`.
 * @param account a placeholder or column of the statement
 */
export const countersOf = (account: string): string => `(
  SELECT day, status, ${COLUMNS} FROM usage_counters WHERE account_id = ${account}
  UNION ALL
  SELECT day, status, ${COLUMNS} FROM usage_counter_deltas WHERE account_id = ${account}
)`;

/** Those of account $1. */
export const COUNTERS_OF_ACCOUNT = countersOf('$1');

/** Sums over some days. */
export interface UsagePeriod {
  recordings: number;
  durationMs: number;
  bytes: number;
}

/**
 * Usage from day `from` up to, not including, day `end`, divided at day `middle`: at most one row for each account and
 * part. SQL, because counters and deltas are added in one snapshot.
 */
export async function sumUsage(
  runner: SqlRunner,
  accountIds: readonly string[],
  { from, middle, end }: { from: string; middle: string; end: string },
): Promise<(UsagePeriod & { accountId: string; isLater: boolean })[]> {
  return await runner.query(
    `SELECT a.id AS "accountId", u.* FROM unnest($1::uuid[]) AS a (id) CROSS JOIN LATERAL (
       SELECT day >= $2::date AS "isLater", sum(accepted)::float8 AS recordings,
         sum(duration_ms)::float8 AS "durationMs", sum(bytes)::float8 AS bytes
       FROM ${countersOf('a.id')} AS counters WHERE day >= $3::date AND day < $4::date GROUP BY 1) u`,
    [accountIds, middle, from, end],
  );
}

/** Days that the figures of keys and end users are kept: longer than any that can be asked for. */
const KEPT_DAYS = 400;

/** Their first day. SQL, because the clock of the database decides. */
export const KEPT_SINCE = `((now() AT TIME ZONE 'UTC')::date - ${KEPT_DAYS})`;

/** What a delta counts for in each dimension: `dimension` and `value` of the row `d`. */
export const DIMENSIONS_OF_DELTA = `(VALUES ('key', coalesce(d.key_id::text, '')), ('user', coalesce(d.user_id, '')))`;

/** Deltas that one statement adds up: bounds the transaction. */
const COMPACT_BATCH = 20_000;

const sumsOf = (columns: readonly string[]): string => columns.map((column) => `sum(${column})`).join(', ');
/** The SET of an upsert that adds to the row of the table. */
export const addTo = (row: string, columns: readonly string[]): string =>
  columns.map((column) => `${column} = ${row}.${column} + excluded.${column}`).join(', ');

const COMPACT = `
  WITH gone AS (
    DELETE FROM usage_counter_deltas
    WHERE id IN (SELECT id FROM usage_counter_deltas ORDER BY id LIMIT ${COMPACT_BATCH})
    RETURNING *
  ),
  broken_down AS (
    INSERT INTO usage_breakdowns AS b (account_id, dimension, value, day, ${BREAKDOWN_FIGURES.join(', ')})
    SELECT d.account_id, broken.dimension, broken.value, d.day, ${sumsOf(BREAKDOWN_FIGURES)}
    FROM gone d CROSS JOIN LATERAL ${DIMENSIONS_OF_DELTA} AS broken (dimension, value)
    WHERE d.day >= ${KEPT_SINCE}
    GROUP BY 1, 2, 3, 4
    ON CONFLICT ON CONSTRAINT usage_breakdowns_pkey DO UPDATE SET ${addTo('b', BREAKDOWN_FIGURES)}
  ),
  added AS (
    INSERT INTO usage_counters AS c (account_id, day, status, ${COLUMNS})
    SELECT account_id, day, status, ${sumsOf(FIGURE_COLUMNS)} FROM gone GROUP BY account_id, day, status
    ON CONFLICT ON CONSTRAINT usage_counters_pkey DO UPDATE SET ${addTo('c', FIGURE_COLUMNS)}
  )
  SELECT count(*)::integer AS count FROM gone`;

/**
 * Moves deltas into the counters until few are left. SQL, because both happen in one statement. Runs beside any number of
 * writers.
 */
export async function compactUsageCounters(runner: SqlRunner): Promise<void> {
  await repeatWhileFull(COMPACT_BATCH, async () => {
    const [gone] = await runner.query<{ count: number }>(COMPACT);
    return gone?.count ?? 0;
  });
}
