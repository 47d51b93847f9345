import { Injectable } from '@nestjs/common';
import { DatabaseService, type SqlRunner, type Tx } from '../../../platform/database/database.service.js';
import type { SearchBackfill, SearchDocument } from './search.entities.js';
import { AccountTerms, labelsOf, quoted, type TaggedRecording, tagTerms, textTerms } from './search-terms.js';

/** Recordings that are read at a time. */
const BATCH = 200;
/** Time in one round of the reconciler, so that its other tasks do not wait. */
const ROUND_MS = 1000;

/** The texts of those recordings that have one, by id. */
export type ReadTexts = (recordingIds: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/**
 * Indexes the recordings from before the first release with search, and the titles and tags of those that a release
 * before titles has indexed (D76).
 */
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
      await this.indexLabels(recordings);
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

  /** Adds the words of titles and tags to documents without. */
  private async indexLabels(recordings: readonly TaggedRecording[]): Promise<void> {
    const labelled = recordings.filter((recording) => labelsOf(recording).length > 0);
    for (const id of await selectUnlabelled(this.database, labelled)) {
      await this.database.transact(async (tx) => {
        const found = await lockTagged(tx, id);
        if (found) await updateTerms(tx, id, await textTerms(found, found.text));
      });
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
       r.title, r.speaker_names AS "speakerNames", CASE WHEN r.status = 'transcribed' THEN s.text IS NULL
         ELSE r.custom_tags IS NOT NULL AND s.recording_id IS NULL END AS "isMissing"
     FROM recordings r LEFT JOIN search_documents s ON s.recording_id = r.id
     WHERE ($1::uuid IS NULL OR r.id < $1) ORDER BY r.id DESC LIMIT $2`,
    [beforeId, limit],
  );
}

/** Those whose document has a text, but not the mark of its labels. SQL, because of the `tsquery`. @returns ids */
async function selectUnlabelled(runner: SqlRunner, recordings: readonly TaggedRecording[]): Promise<string[]> {
  const rows = await runner.query<{ id: string }>(
    `SELECT s.recording_id AS id
     FROM unnest($1::uuid[], $2::text[]) AS asked (id, mark) JOIN search_documents s ON s.recording_id = asked.id
     WHERE s.text IS NOT NULL AND NOT s.terms @@ asked.mark::tsquery`,
    [recordings.map(({ id }) => id), recordings.map(({ accountId }) => quoted(new AccountTerms(accountId).labelled))],
  );
  return rows.map(({ id }) => id);
}

/** The recording, locked against a change of its text and its labels. SQL because of FOR UPDATE. */
async function lockTagged(tx: Tx, recordingId: string): Promise<(TaggedRecording & { text: string }) | null> {
  const [found] = await tx.query<TaggedRecording & { text: string }>(
    `SELECT r.id, r.account_id AS "accountId", r.user_id AS "userId", r.custom_tags AS "customTags", r.title,
       r.speaker_names AS "speakerNames", s.text
     FROM recordings r JOIN search_documents s ON s.recording_id = r.id
     WHERE r.id = $1 AND s.text IS NOT NULL FOR UPDATE`,
    [recordingId],
  );
  return found ?? null;
}

/** SQL, because of the type. */
async function updateTerms(
  tx: Tx,
  recordingId: string,
  { terms, folded }: Pick<SearchDocument, 'terms' | 'folded'>,
): Promise<void> {
  await tx.query('UPDATE search_documents SET terms = $2::tsvector, folded = $3 WHERE recording_id = $1', [
    recordingId,
    terms,
    folded,
  ]);
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
