import type { SqlRunner } from '../../platform/database/database.service.js';

/** The end of an utterance, as the client of a live recording says it (D93). */
export interface LiveCut {
  byteOffset: number;
  /** The client waits for the text of what ends here. */
  isCommit: boolean;
  /** Whether pauses end utterances from here on. */
  atPauses: boolean;
}

/** Without effect on a recording that has ended. A second cut at the same byte adds to the first. SQL, because it does that. */
export async function insertCut(
  runner: SqlRunner,
  recordingId: string,
  { byteOffset, isCommit, atPauses }: LiveCut,
): Promise<void> {
  await runner.query(
    `INSERT INTO live_cuts AS c (recording_id, byte_offset, is_commit, at_pauses)
     SELECT recording_id, $2, $3, $4 FROM live_recordings WHERE recording_id = $1 AND ended_at IS NULL
     ON CONFLICT (recording_id, byte_offset)
     DO UPDATE SET is_commit = c.is_commit OR excluded.is_commit, at_pauses = excluded.at_pauses`,
    [recordingId, byteOffset, isCommit, atPauses],
  );
}

/** The last up to a byte; null without any. */
export async function selectCut(runner: SqlRunner, recordingId: string, upToByte: number): Promise<LiveCut | null> {
  const [cut] = await runner.prepared<LiveCut>(
    `SELECT byte_offset::float8 AS "byteOffset", is_commit AS "isCommit", at_pauses AS "atPauses" FROM live_cuts
     WHERE recording_id = $1 AND byte_offset <= $2 ORDER BY byte_offset DESC LIMIT 1`,
    [recordingId, upToByte],
  );
  return cut ?? null;
}
