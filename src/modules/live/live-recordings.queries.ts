import type { SqlRunner, Tx } from '../../platform/database/database.service.js';
import type { EndReason, LiveRecordingRow } from './live-recording.entity.js';

/** A row without what concerns the assembly. */
export type LiveRow = Pick<
  LiveRecordingRow,
  | 'recordingId'
  | 'accountId'
  | 'audioFormat'
  | 'sampleRate'
  | 'storedBytes'
  | 'storedMs'
  | 'reservedKey'
  | 'reservedBytes'
  | 'reservedMs'
  | 'endedAt'
  | 'endReason'
>;

const COLUMNS = `l.recording_id AS "recordingId", l.account_id AS "accountId", l.audio_format AS "audioFormat",
  l.sample_rate AS "sampleRate", l.stored_bytes::float8 AS "storedBytes", l.stored_ms::float8 AS "storedMs",
  l.reserved_key AS "reservedKey", l.reserved_bytes::float8 AS "reservedBytes", l.reserved_ms::float8 AS "reservedMs",
  l.ended_at AS "endedAt", l.end_reason AS "endReason"`;

/** A connection may break for this long; then the recording ends. */
export const ABANDONED_SECONDS = 60;

export async function insertLive(
  tx: Tx,
  row: Pick<
    LiveRow,
    'recordingId' | 'accountId' | 'audioFormat' | 'sampleRate' | 'reservedKey' | 'reservedBytes' | 'reservedMs'
  > & {
    /** Why no words will come; null where they may. */
    wordsProblem: string | null;
  },
): Promise<void> {
  await tx.query(
    `INSERT INTO live_recordings
       (recording_id, account_id, audio_format, sample_rate, reserved_key, reserved_bytes, reserved_ms, words_problem,
        words_ended_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, CASE WHEN $8::text IS NOT NULL THEN now() END)`,
    [
      row.recordingId,
      row.accountId,
      row.audioFormat,
      row.sampleRate,
      row.reservedKey,
      row.reservedBytes,
      row.reservedMs,
      row.wordsProblem,
    ],
  );
}

/** Recordings of an account that are being recorded; one that gets no audio any more is about to end. SQL, because of the clock. */
export async function countLive(tx: Tx, accountId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM live_recordings
     WHERE account_id = $1 AND ended_at IS NULL AND last_audio_at > now() - make_interval(secs => $2)`,
    [accountId, ABANDONED_SECONDS],
  );
  return row?.count ?? 0;
}

/** What the time between two parts counts at most, of audio whose length its bytes do not tell. */
const MAX_GAP_MS = 10_000;
/** With the part that is added, of $4 bytes. */
const MS_AFTER = `CASE WHEN sample_rate IS NULL
  THEN stored_ms + least(extract(epoch FROM clock_timestamp() - last_audio_at) * 1000, ${MAX_GAP_MS})::bigint
  ELSE (stored_bytes + $4) * 500 / sample_rate END`;

const APPEND = `
  WITH live AS (
    UPDATE live_recordings SET stored_bytes = stored_bytes + $4, stored_ms = ${MS_AFTER}, last_audio_at = clock_timestamp()
    WHERE recording_id = $1 AND ended_at IS NULL AND stored_bytes = $2
      AND stored_bytes + $4 <= reserved_bytes AND ${MS_AFTER} <= reserved_ms
    RETURNING stored_bytes),
  part AS (INSERT INTO live_audio (recording_id, byte_offset, audio) SELECT $1, $2, $3::bytea FROM live)
  SELECT stored_bytes::float8 AS "storedBytes" FROM live`;

/**
 * Stores a part behind all others, within what is reserved. SQL, because one statement locks the row, compares and writes.
 * @returns null when it does not belong there, or there is no room; then nothing is written.
 */
export async function appendPart(
  runner: SqlRunner,
  recordingId: string,
  byteOffset: number,
  audio: Buffer,
): Promise<number | null> {
  const parameters = [recordingId, byteOffset, audio, audio.length];
  const [live] = await runner.prepared<Pick<LiveRow, 'storedBytes'>>(APPEND, parameters);
  return live?.storedBytes ?? null;
}

/** Locks it until the end of `tx`. */
export async function lockLive(tx: Tx, recordingId: string): Promise<LiveRow | null> {
  const [row] = await tx.query<LiveRow>(`SELECT ${COLUMNS} FROM live_recordings l WHERE recording_id = $1 FOR UPDATE`, [
    recordingId,
  ]);
  return row ?? null;
}

export async function updateReserved(
  tx: Tx,
  { recordingId, reservedBytes, reservedMs }: Pick<LiveRow, 'recordingId' | 'reservedBytes' | 'reservedMs'>,
): Promise<void> {
  await tx.query('UPDATE live_recordings SET reserved_bytes = $2, reserved_ms = $3 WHERE recording_id = $1', [
    recordingId,
    reservedBytes,
    reservedMs,
  ]);
}

/** @returns whether it was still being recorded. SQL, because of the clock of the database. */
export async function endLive(runner: SqlRunner, recordingId: string, reason: EndReason): Promise<boolean> {
  const rows = await runner.query(
    `UPDATE live_recordings SET ended_at = now(), end_reason = $2, due_at = now()
     WHERE recording_id = $1 AND ended_at IS NULL RETURNING 1`,
    [recordingId, reason],
  );
  return rows.length > 0;
}

type FoundLive = LiveRow & {
  userId: string | null;
  /** As its last cut says; null without any. */
  atPauses: boolean | null;
};

/** @returns null when its file is stored, or it was none. SQL, because the user is a column of another table. */
export async function findLive(runner: SqlRunner, accountId: string, recordingId: string): Promise<FoundLive | null> {
  const [row] = await runner.query<FoundLive>(
    `SELECT ${COLUMNS}, r.user_id AS "userId", (SELECT c.at_pauses FROM live_cuts c
       WHERE c.recording_id = l.recording_id ORDER BY c.byte_offset DESC LIMIT 1) AS "atPauses"
     FROM live_recordings l JOIN recordings r ON r.id = l.recording_id
     WHERE l.recording_id = $1 AND l.account_id = $2 AND l.assembled_at IS NULL`,
    [recordingId, accountId],
  );
  return row ?? null;
}

/** A row for each part; without any, one whose part is null. */
interface ReadPart {
  storedBytes: number;
  ended: boolean;
  /** The first cut behind a byte. */
  nextCut: number | null;
  byteOffset: number | null;
  audio: Buffer | null;
}

/** The parts that hold bytes $2 up to $2 + $3, the first and the last as a whole, and the first cut behind byte $4. */
const READ = `
  SELECT l.stored_bytes::float8 AS "storedBytes", l.ended_at IS NOT NULL AS ended,
    c.next::float8 AS "nextCut", p.byte_offset::float8 AS "byteOffset", p.audio
  FROM live_recordings l CROSS JOIN LATERAL (
    SELECT min(byte_offset) AS next FROM live_cuts
    WHERE recording_id = l.recording_id AND byte_offset > $4::bigint) c
  LEFT JOIN LATERAL (
    SELECT byte_offset, audio FROM live_audio
    WHERE recording_id = l.recording_id AND byte_offset < $2::bigint + $3::bigint AND $2::bigint < l.stored_bytes
      AND byte_offset >= (SELECT byte_offset FROM live_audio WHERE recording_id = l.recording_id
        AND byte_offset <= $2::bigint ORDER BY byte_offset DESC LIMIT 1)
    ORDER BY byte_offset) p ON true
  WHERE l.recording_id = $1 ORDER BY p.byte_offset`;

export async function readParts(
  runner: SqlRunner,
  recordingId: string,
  fromByte: number,
  maxBytes: number,
  cutBehind = 0,
): Promise<ReadPart[]> {
  return await runner.prepared<ReadPart>(READ, [recordingId, fromByte, maxBytes, cutBehind]);
}
