import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog, createIndexConcurrently } from '../platform/database/migration-steps.js';

/** An append changes this row without a new entry in any index, in the free half of its page. */
const RECORDINGS = `
  CREATE TABLE IF NOT EXISTS live_recordings (
    recording_id uuid CONSTRAINT live_recordings_pkey PRIMARY KEY
      CONSTRAINT live_recordings_recording_fkey REFERENCES recordings ON DELETE CASCADE,
    account_id uuid NOT NULL,
    audio_format text NOT NULL,
    -- Of raw PCM only.
    sample_rate integer,
    stored_bytes bigint NOT NULL DEFAULT 0,
    -- Of PCM its length; else the time in which it arrived.
    stored_ms bigint NOT NULL DEFAULT 0,
    -- What the account's quotas count of it until its file is stored.
    reserved_key text NOT NULL,
    reserved_bytes bigint NOT NULL,
    reserved_ms bigint NOT NULL,
    last_audio_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    end_reason text,
    -- Of the assembly: the next attempt or, while a deliverer has a lease, its end. Null before the end and after it.
    due_at timestamptz,
    assembly_token uuid,
    claims integer NOT NULL DEFAULT 0,
    assembled_at timestamptz,
    -- Of the transcriber that writes words while one speaks.
    lease_token uuid,
    lease_until timestamptz,
    CONSTRAINT live_recordings_state_check CHECK ((ended_at IS NULL) = (end_reason IS NULL)
      AND (ended_at IS NULL OR (due_at IS NULL) = (assembled_at IS NOT NULL))
      AND (ended_at IS NOT NULL OR (due_at IS NULL AND assembled_at IS NULL))
      AND (due_at IS NOT NULL OR assembly_token IS NULL))
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500)`;

/**
 * No foreign key: its check would lock the row of the recording at every part. A part is written under the lock of the
 * row above, and parts without that row are deleted.
 */
const AUDIO = `
  CREATE TABLE IF NOT EXISTS live_audio (
    recording_id uuid,
    byte_offset bigint,
    audio bytea NOT NULL,
    CONSTRAINT live_audio_pkey PRIMARY KEY (recording_id, byte_offset)
  ) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.2, toast.autovacuum_vacuum_scale_factor = 0.02,
    toast.autovacuum_vacuum_threshold = 5000)`;

/** Recordings whose audio is stored in parts while it is recorded, until a file is made of it (D91). */
export class LiveRecordings1795600700000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'recordings', [
      RECORDINGS,
      AUDIO,
      // Audio does not get smaller.
      'ALTER TABLE live_audio ALTER COLUMN audio SET STORAGE EXTERNAL',
    ]);
    const live = 'live_recordings (account_id) WHERE ended_at IS NULL';
    await createIndexConcurrently(runner, 'live_recordings_live_idx', live);
    const due = 'live_recordings (account_id, due_at) WHERE due_at IS NOT NULL';
    await createIndexConcurrently(runner, 'live_recordings_due_idx', due);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'recordings', [
      // Nobody makes a file of them any more, so that they can be claimed and fail.
      `UPDATE recordings SET lease_until = NULL WHERE id IN (SELECT recording_id FROM live_recordings)
         AND lease_until = 'infinity'`,
      'DROP TABLE live_audio',
      'DROP TABLE live_recordings',
    ]);
  }
}
