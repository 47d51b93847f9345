import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog, createIndexConcurrently } from '../platform/database/migration-steps.js';

/** What of a long note is transcribed already (D77), and its events, whose text goes with the recording. */
export class TranscriptionPartials1795600250000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'recordings', [
      `CREATE TABLE IF NOT EXISTS transcription_partials (
         recording_id uuid CONSTRAINT transcription_partials_recording_fkey REFERENCES recordings ON DELETE CASCADE,
         index integer,
         start_ms integer NOT NULL,
         end_ms integer NOT NULL,
         text text NOT NULL,
         CONSTRAINT transcription_partials_pkey PRIMARY KEY (recording_id, index)
       )`,
    ]);
    const partials = `events (recording_id) WHERE kind = 'recording.partial'`;
    await createIndexConcurrently(runner, 'events_partial_idx', partials);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'events', ['DROP TABLE transcription_partials', 'DROP INDEX events_partial_idx']);
  }
}
