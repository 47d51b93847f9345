import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog } from '../platform/database/migration-steps.js';

const CUTS = `
  CREATE TABLE IF NOT EXISTS live_cuts (
    recording_id uuid CONSTRAINT live_cuts_recording_fkey REFERENCES live_recordings ON DELETE CASCADE,
    -- Where the utterance before ends.
    byte_offset bigint,
    -- Whether the client has committed it, and waits for its text.
    is_commit boolean NOT NULL,
    -- Whether pauses end utterances from here on.
    at_pauses boolean NOT NULL,
    CONSTRAINT live_cuts_pkey PRIMARY KEY (recording_id, byte_offset)
  )`;

/** Where clients end the utterances of live recordings (D93). */
export class LiveCuts1795601000000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'live_recordings', [CUTS]);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'live_recordings', ['DROP TABLE live_cuts']);
  }
}
