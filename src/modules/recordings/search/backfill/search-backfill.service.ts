import { Injectable } from '@nestjs/common';
import { DatabaseService } from '../../../../platform/database/database.service.js';
import { endPass, insertMissing, selectBackfill, selectBefore, setBefore } from './search-backfill.queries.js';
import { tagTerms, textTerms } from '../search-terms.js';

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
      if (recordings.length < BATCH) return await endPass(this.database);
      await setBefore(this.database, beforeId);
    }
  }
}
