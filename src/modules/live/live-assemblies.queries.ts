import type { SqlRunner, Tx } from '../../platform/database/database.service.js';
import { type LeasedTable, pickDue } from '../../platform/database/leases.queries.js';
import { ABANDONED_SECONDS, type LiveRow } from './live-recordings.queries.js';

/** A deliverer's right to make the file of a live recording that has ended. */
export type AssemblyLease = Pick<
  LiveRow,
  'recordingId' | 'accountId' | 'audioFormat' | 'sampleRate' | 'storedBytes' | 'storedMs' | 'reservedKey'
> & {
  leaseToken: string;
  /** Number of all attempts. */
  claims: number;
};

export const ASSEMBLIES: LeasedTable = { table: 'live_recordings', token: 'assembly_token', until: 'due_at' };

/** Those of a suspended account are made, too: what was acknowledged is kept. */
const CLAIM = `
  ${pickDue(ASSEMBLIES)}
  UPDATE live_recordings l SET assembly_token = $1, due_at = clock_timestamp() + make_interval(secs => $2),
    claims = claims + 1
  FROM picked WHERE l.recording_id = picked.recording_id
  RETURNING l.recording_id AS "recordingId", l.account_id AS "accountId", l.audio_format AS "audioFormat",
    l.sample_rate AS "sampleRate", l.stored_bytes::float8 AS "storedBytes", l.stored_ms::float8 AS "storedMs",
    l.reserved_key AS "reservedKey", l.assembly_token AS "leaseToken", l.claims`;

/** SQL, because it locks, updates and reads at once. @returns null when none is due. */
export async function claimAssembly(
  runner: SqlRunner,
  {
    leaseToken,
    leaseSeconds,
    exceptAccounts,
  }: { leaseToken: string; leaseSeconds: number; exceptAccounts: readonly string[] },
): Promise<AssemblyLease | null> {
  const [lease] = await runner.query<AssemblyLease>(CLAIM, [leaseToken, leaseSeconds, exceptAccounts]);
  return lease ?? null;
}

/** Notes the key under which the file is about to be stored, for the next claim. */
export async function noteFileKey(tx: Tx, recordingId: string, objectKey: string): Promise<void> {
  await tx.query('UPDATE live_recordings SET reserved_key = $2 WHERE recording_id = $1', [recordingId, objectKey]);
}

/** SQL, because of the clock of the database. */
export async function markAssembled(tx: Tx, recordingId: string): Promise<void> {
  await tx.query(
    `UPDATE live_recordings SET assembled_at = now(), due_at = NULL, assembly_token = NULL WHERE recording_id = $1`,
    [recordingId],
  );
}

export async function deleteLive(tx: Tx, recordingId: string): Promise<void> {
  await tx.query('DELETE FROM live_recordings WHERE recording_id = $1', [recordingId]);
}

/** Ends those that have got no audio for long. SQL, because of the clock of the database. @returns their ids */
export async function endAbandoned(runner: SqlRunner): Promise<string[]> {
  const rows = await runner.query<{ id: string }>(
    `UPDATE live_recordings SET ended_at = now(), end_reason = 'abandoned', due_at = now()
     WHERE ended_at IS NULL AND last_audio_at < now() - make_interval(secs => $1) RETURNING recording_id AS id`,
    [ABANDONED_SECONDS],
  );
  return rows.map(({ id }) => id);
}

/** For how long the words that are still missing may be recognised once the file is there. */
const WORDS_SECONDS = 60;

/**
 * Deletes the rows of those whose file is stored, unless words are still to come, also of one that waits for a transcriber;
 * their audio is without a row then. SQL, because of the clock of the database. @returns their ids
 */
export async function deleteAssembled(runner: SqlRunner): Promise<string[]> {
  const rows = await runner.query<{ id: string }>(
    `DELETE FROM live_recordings WHERE assembled_at < now() - make_interval(secs => $1)
       OR (assembled_at IS NOT NULL AND words_ended_at IS NOT NULL) RETURNING recording_id AS id`,
    [WORDS_SECONDS],
  );
  return rows.map(({ id }) => id);
}

/** Recordings whose parts have no row any more. Each is found by one probe of the index. */
const LEFT = `
  WITH RECURSIVE stored AS (
    (SELECT recording_id AS id FROM live_audio ORDER BY recording_id LIMIT 1)
    UNION ALL
    SELECT (SELECT a.recording_id FROM live_audio a WHERE a.recording_id > s.id ORDER BY a.recording_id LIMIT 1)
    FROM stored s WHERE s.id IS NOT NULL)
  SELECT id FROM stored
  WHERE id IS NOT NULL AND NOT EXISTS (SELECT FROM live_recordings l WHERE l.recording_id = stored.id) LIMIT $1`;

/** SQL, because of the probes. */
export async function selectLeftAudio(runner: SqlRunner, count: number): Promise<string[]> {
  const rows = await runner.query<{ id: string }>(LEFT, [count]);
  return rows.map(({ id }) => id);
}

/** SQL, because TypeORM's DELETE has no LIMIT. @returns how many, at most `count`. */
export async function deleteAudio(runner: SqlRunner, recordingId: string, count: number): Promise<number> {
  const rows = await runner.query(
    `DELETE FROM live_audio WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM live_audio WHERE recording_id = $1 ORDER BY byte_offset LIMIT $2)) RETURNING 1`,
    [recordingId, count],
  );
  return rows.length;
}

/** What is not stored as a file yet. */
export interface LiveQueue {
  live: number;
  waiting: number;
  /** How long the oldest that waits has waited. */
  oldestSeconds: number;
}

/** SQL, because one statement counts all. */
export async function readLiveQueue(runner: SqlRunner): Promise<LiveQueue> {
  const [queue] = await runner.query<LiveQueue>(
    `SELECT count(*) FILTER (WHERE ended_at IS NULL)::int AS live, count(*) FILTER (WHERE due_at IS NOT NULL)::int AS waiting,
       coalesce(extract(epoch FROM now() - min(ended_at) FILTER (WHERE due_at IS NOT NULL)), 0)::float8 AS "oldestSeconds"
     FROM live_recordings`,
  );
  return queue as LiveQueue;
}
