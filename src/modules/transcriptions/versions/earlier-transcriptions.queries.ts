import type { Tx } from '../../../platform/database/database.service.js';

/** Versions of a recording, including the present one. */
const MAX_VERSIONS = 5;

const COLUMNS = 'id, recording_id, text, confidence, language, provider, model, processing_duration_ms, created_at';

/**
 * Copies the present transcription, before it is replaced, and deletes what is too old. SQL, because the text does not
 * leave Postgres.
 */
export async function keepEarlier(tx: Tx, recordingId: string): Promise<void> {
  await tx.query(
    `WITH kept AS (
       INSERT INTO earlier_transcriptions (${COLUMNS}) SELECT ${COLUMNS} FROM transcriptions WHERE recording_id = $1)
     DELETE FROM earlier_transcriptions WHERE id IN (
       SELECT id FROM earlier_transcriptions WHERE recording_id = $1
       ORDER BY created_at DESC, id DESC OFFSET ${MAX_VERSIONS - 2})`,
    [recordingId],
  );
}
