import { Injectable } from '@nestjs/common';
import { DatabaseService, type SqlRunner } from '../../../platform/database/database.service.js';
import type { SearchBackfill, SearchDocument } from './search.entities.js';
import { type TaggedRecording, tagTerms, textTerms } from './search-terms.js';

/** Recordings that are read at a time. */
const BATCH = 200;
/** Time in one round of the reconciler, so that its other tasks do not wait. */
const ROUND_MS = 1000;

/** The texts of those recordings that have one, by id. */
export type ReadTexts = (recordingIds: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/** Indexes the recordings from before the first release with search. */
@Injectable()
export class SearchBackfillService {
  private complete = false;

  constructor(private readonly database: DatabaseService) {}

  /** Whether every recording can be found. */
  async isComplete(): Promise<boolean> {
    if (!this.complete) this.complete = (await selectBackfill(this.database)).passesLeft < 2;
    return this.complete;
  }

  /** Indexes for about a second. After a crash the next call goes on. */
  async run(readTexts: ReadTexts): Promise<void> {
    const state = await selectBackfill(this.database);
    if (state.passesLeft === 0 || !state.isDue) return;
    let { beforeId } = state;
    for (const deadline = Date.now() + ROUND_MS; Date.now() < deadline;) {
      const recordings = await selectBefore(this.database, beforeId, BATCH);
      const missing = recordings.filter(({ isMissing }) => isMissing);
      const texts = await readTexts(missing.map(({ id }) => id));
      for (const recording of missing) {
        const text = texts.get(recording.id) ?? null;
        const document =
          text === null ? { terms: tagTerms(recording), folded: null } : await textTerms(recording, text);
        if (document.terms !== null) {
          await insertMissing(this.database, recording.id, { ...document, terms: document.terms, text });
        }
      }
      beforeId = recordings.at(-1)?.id ?? null;
      if (recordings.length < BATCH) return await this.endPass();
      await this.database.query('UPDATE search_backfill SET before_id = $1', [beforeId]);
    }
  }

  /** The next pass begins a day later. SQL, because of the clock of the database. */
  private async endPass(): Promise<void> {
    await this.database.query(
      `UPDATE search_backfill SET before_id = NULL, passes_left = passes_left - 1, next_at = now() + interval '1 day'`,
    );
  }
}

/** SQL, because the clock of the database decides. */
async function selectBackfill(
  runner: SqlRunner,
): Promise<Pick<SearchBackfill, 'beforeId' | 'passesLeft'> & { isDue: boolean }> {
  const [state] = await runner.query<Pick<SearchBackfill, 'beforeId' | 'passesLeft'> & { isDue: boolean }>(
    `SELECT before_id AS "beforeId", passes_left AS "passesLeft", next_at <= now() AS "isDue" FROM search_backfill`,
  );
  if (!state) throw new Error('search_backfill has no row');
  return state;
}

/** In the order of the ids, which is that of the uploads. `isMissing`: without a text that can be searched. */
async function selectBefore(
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
async function insertMissing(
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
