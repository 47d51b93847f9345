import type { SqlRunner, Tx } from '../../../platform/database/database.service.js';
import type { SearchDocument } from './search-document.entity.js';
import type { TaggedRecording } from './search-terms.js';

/** SQL, because the recording's time comes with the same statement, and because of the conflict. */
export async function writeDocument(
  tx: Tx,
  recordingId: string,
  { terms, folded, text }: Pick<SearchDocument, 'terms' | 'folded' | 'text'>,
): Promise<void> {
  await tx.prepared(
    `INSERT INTO search_documents (recording_id, account_id, created_at, terms, folded, text)
     SELECT id, account_id, created_at, $2::tsvector, $3, $4 FROM recordings WHERE id = $1
     ON CONFLICT (recording_id) DO UPDATE SET terms = excluded.terms, folded = excluded.folded, text = excluded.text`,
    [recordingId, terms, folded, text],
  );
}

/** SQL, as `findRecordings` is. @returns null when the account has no such recording. */
export async function selectTagged(
  runner: SqlRunner,
  accountId: string,
  recordingId: string,
): Promise<TaggedRecording | null> {
  const [recording] = await runner.prepared<TaggedRecording>(
    `SELECT id, account_id AS "accountId", user_id AS "userId", custom_tags AS "customTags"
     FROM recordings WHERE id = $2 AND account_id = $1`,
    [accountId, recordingId],
  );
  return recording ?? null;
}
