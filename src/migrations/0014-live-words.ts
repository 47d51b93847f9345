import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog } from '../platform/database/migration-steps.js';

const WORDS = `
  CREATE TABLE IF NOT EXISTS live_words (
    recording_id uuid CONSTRAINT live_words_recording_fkey REFERENCES live_recordings ON DELETE CASCADE,
    -- Number of the utterance, from 0.
    item integer,
    start_ms integer NOT NULL,
    -- The next utterance begins here at the earliest.
    end_ms integer NOT NULL,
    text text NOT NULL,
    -- A list of words with their times, as JSON.
    words text NOT NULL,
    CONSTRAINT live_words_pkey PRIMARY KEY (recording_id, item)
  )`;

/** What was recognised while one spoke, for readers that come back and transcribers that take over (D92). */
export class LiveWords1795600800000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'live_recordings', [
      WORDS,
      'ALTER TABLE live_recordings ADD COLUMN IF NOT EXISTS words_ended_at timestamptz',
      'ALTER TABLE live_recordings ADD COLUMN IF NOT EXISTS words_problem text',
    ]);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'live_recordings', [
      'DROP TABLE live_words',
      'ALTER TABLE live_recordings DROP COLUMN words_ended_at, DROP COLUMN words_problem',
    ]);
  }
}
