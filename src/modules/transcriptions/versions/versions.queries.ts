import type { SqlRunner } from '../../../platform/database/database.service.js';
import { selectList } from '../../../platform/database/statement-parts.js';
import { EarlierTranscription } from './earlier-transcription.entity.js';

/** A transcription of a recording, by one run of an engine. */
export interface TranscriptVersion extends EarlierTranscription {
  /** Whether it is the present one; the others are earlier. */
  isServed: boolean;
  /** The correction of its text. */
  correctedText: string | null;
}

const COLUMNS = selectList(EarlierTranscription, 'v');

/** The newest first. SQL, because both tables are read in one snapshot. */
export async function selectVersions(runner: SqlRunner, recordingId: string): Promise<TranscriptVersion[]> {
  return await runner.query<TranscriptVersion>(
    `SELECT ${COLUMNS}, true AS "isServed", v.corrected_text AS "correctedText"
     FROM transcriptions v WHERE v.recording_id = $1
     UNION ALL
     SELECT ${COLUMNS}, false, NULL FROM earlier_transcriptions v WHERE v.recording_id = $1
     ORDER BY "isServed" DESC, "createdAt" DESC, id DESC`,
    [recordingId],
  );
}
