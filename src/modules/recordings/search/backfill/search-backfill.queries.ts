import type { SqlRunner } from '../../../../platform/database/database.service.js';
import type { SearchBackfill } from './search-backfill.entity.js';
import type { SearchDocument } from '../search-document.entity.js';
import type { TaggedRecording } from '../search-terms.js';

/** SQL, because the clock of the database decides. */
export async function selectBackfill(
  runner: SqlRunner,
): Promise<Pick<SearchBackfill, 'beforeId' | 'passesLeft'> & { isDue: boolean }> {
  const [state] = await runner.query<Pick<SearchBackfill, 'beforeId' | 'passesLeft'> & { isDue: boolean }>(
    `SELECT before_id AS "beforeId", passes_left AS "passesLeft", next_at <= now() AS "isDue" FROM search_backfill`,
  );
  if (!state) throw new Error('search_backfill has no row');
  return state;
}

/** In the order of the ids, which is that of the uploads. `isMissing`: without a text that can be searched. */
export async function selectBefore(
  runner: SqlRunner,
  beforeId: string | null,
  limit: number,
): Promise<(TaggedRecording & { isMissing: boolean })[]> {
  return await runner.query(
    `SELECT r.id, r.account_id AS "accountId", r.user_id AS "userId", r.custom_tags AS "customTags",
       CASE WHEN r.status = 'transcribed' THEN s.text IS NULL
         ELSE r.custom_tags IS NOT NULL AND s.recording_id IS NULL END AS "isMissing"
     FROM recordings r LEFT JOIN search_documents s ON s.recording_id = r.id
     WHERE ($1::uuid IS NULL OR r.id < $1) ORDER BY r.id DESC LIMIT $2`,
    [beforeId, limit],
  );
}

/** What was finished or corrected meanwhile stays. SQL, because of the conflict. */
export async function insertMissing(
  runner: SqlRunner,
  recordingId: string,
  { terms, folded, text }: Pick<SearchDocument, 'terms' | 'folded' | 'text'>,
): Promise<void> {
  await runner.query(
    `INSERT INTO search_documents AS s (recording_id, account_id, created_at, terms, folded, text)
     SELECT id, account_id, created_at, $2::tsvector, $3, $4 FROM recordings WHERE id = $1 FOR KEY SHARE
     ON CONFLICT (recording_id) DO UPDATE SET terms = excluded.terms, folded = excluded.folded, text = excluded.text
       WHERE s.text IS NULL`,
    [recordingId, terms, folded, text],
  );
}

export async function setBefore(runner: SqlRunner, beforeId: string | null): Promise<void> {
  await runner.query('UPDATE search_backfill SET before_id = $1', [beforeId]);
}

/** The next pass begins a day later. SQL, because of the clock of the database. */
export async function endPass(runner: SqlRunner): Promise<void> {
  await runner.query(
    `UPDATE search_backfill SET before_id = NULL, passes_left = passes_left - 1, next_at = now() + interval '1 day'`,
  );
}
