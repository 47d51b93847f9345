import type { DatabaseService, Tx } from '../../../platform/database/database.service.js';
import type { Recording, RecordingStatus } from '../recording.entity.js';

/**
 * The counts of an account, per UTC day of creation and status: list totals and monthly usage both come from them.
 * A change only ever inserts its deltas, in its own transaction, so that no row is hot and nothing can deadlock; a
 * reader adds folded rows and deltas in one statement, which sees one snapshot (docs/decisions).
 */
interface CounterDelta {
  /** Recordings that lists show. */
  listed: number;
  /** Recordings ever accepted. */
  accepted: number;
  durationMs: number;
  /** Bytes that are stored. */
  bytes: number;
}

type Booked = Pick<Recording, 'accountId' | 'createdAt' | 'fileSizeBytes' | 'durationMs'>;

/** Books new recordings, the rows of `accepted`: for the statement that inserts them. */
export const COUNT_ACCEPTED = `
  INSERT INTO usage_counter_deltas (account_id, day, status, listed, accepted, duration_ms, bytes)
  SELECT account_id, (created_at AT TIME ZONE 'UTC')::date, status, 1, 1, duration_ms, file_size_bytes FROM accepted
  RETURNING account_id`;

/** @param durationMs by how much the duration changed with it. */
export async function countStatusChange(
  tx: Tx,
  recording: Booked,
  from: RecordingStatus,
  to: RecordingStatus,
  durationMs: number,
): Promise<void> {
  await book(tx, recording, from, { listed: -1, accepted: 0, durationMs: 0, bytes: 0 });
  await book(tx, recording, to, { listed: 1, accepted: 0, durationMs, bytes: 0 });
}

/** What was used stays used, what was stored is stored no more (D8). */
export async function countDeletion(tx: Tx, recording: Booked & Pick<Recording, 'status'>): Promise<void> {
  const change = { listed: -1, accepted: 0, durationMs: 0, bytes: -recording.fileSizeBytes };
  await book(tx, recording, recording.status, change);
}

async function book(tx: Tx, recording: Booked, status: RecordingStatus, change: CounterDelta): Promise<void> {
  await tx.prepared(
    `INSERT INTO usage_counter_deltas (account_id, day, status, listed, accepted, duration_ms, bytes)
     VALUES ($1, ($2::timestamptz AT TIME ZONE 'UTC')::date, $3, $4, $5, $6, $7)`,
    [recording.accountId, recording.createdAt, status, change.listed, change.accepted, change.durationMs, change.bytes],
  );
}

/** A sub-select over folded rows and deltas of account $1; the caller adds conditions on `day` and `status`. */
export const COUNTERS_OF_ACCOUNT = `(
  SELECT day, status, listed, accepted, duration_ms, bytes FROM usage_counters WHERE account_id = $1
  UNION ALL
  SELECT day, status, listed, accepted, duration_ms, bytes FROM usage_counter_deltas WHERE account_id = $1
)`;

/** Deltas that one round folds: bounds the transaction. */
const COMPACT_BATCH = 20_000;

/** Adds what deltas there are to the folded rows. Runs in one process at a time, beside any number of writers. */
export async function compactUsageCounters(database: DatabaseService): Promise<void> {
  await database.query(
    `WITH gone AS (
       DELETE FROM usage_counter_deltas
       WHERE id IN (SELECT id FROM usage_counter_deltas ORDER BY id LIMIT ${COMPACT_BATCH})
       RETURNING *
     )
     INSERT INTO usage_counters AS t (account_id, day, status, listed, accepted, duration_ms, bytes)
     SELECT account_id, day, status, sum(listed), sum(accepted), sum(duration_ms), sum(bytes)
     FROM gone GROUP BY account_id, day, status
     ON CONFLICT ON CONSTRAINT usage_counters_pkey DO UPDATE SET
       listed = t.listed + excluded.listed,
       accepted = t.accepted + excluded.accepted,
       duration_ms = t.duration_ms + excluded.duration_ms,
       bytes = t.bytes + excluded.bytes`,
  );
}
