import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog, createIndexConcurrently } from '../platform/database/migration-steps.js';

const LINKS = `
  CREATE TABLE IF NOT EXISTS recording_links (
    recording_id uuid CONSTRAINT recording_links_pkey PRIMARY KEY
      CONSTRAINT recording_links_recording_fkey REFERENCES recordings ON DELETE CASCADE,
    account_id uuid NOT NULL,
    encrypted_url text NOT NULL,
    -- The next attempt or, while a worker has a lease, its end; null when the last attempt has failed.
    due_at timestamptz,
    lease_token uuid,
    attempt integer NOT NULL DEFAULT 0,
    -- Of all attempts, also those before a retry.
    claims integer NOT NULL DEFAULT 0,
    reserved_key text,
    ended_at timestamptz,
    CONSTRAINT recording_links_state_check CHECK ((due_at IS NULL) = (ended_at IS NOT NULL)
      AND (due_at IS NOT NULL OR lease_token IS NULL))
  ) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000)`;

/** Links that stand for the file of a recording until they are fetched, and the webhook of a single recording (D72, D73). */
export class RecordingLinks1795600100000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'recordings', [LINKS]);
    const due = 'recording_links (account_id, due_at) WHERE due_at IS NOT NULL';
    await createIndexConcurrently(runner, 'recording_links_due_idx', due);
    const ended = 'recording_links (ended_at) WHERE ended_at IS NOT NULL';
    await createIndexConcurrently(runner, 'recording_links_ended_idx', ended);
    await changeCatalog(runner, 'webhooks', ['ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS recording_id uuid']);
    const callbacks = 'webhooks (recording_id) WHERE recording_id IS NOT NULL';
    await createIndexConcurrently(runner, 'webhooks_recording_idx', callbacks);
    // A page and a fan-out look at the others only, of which an account has few.
    const listed = 'webhooks (account_id, created_at DESC, id DESC) WHERE recording_id IS NULL';
    await createIndexConcurrently(runner, 'webhooks_listed_idx', listed);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'webhooks', [
      'DELETE FROM webhooks WHERE recording_id IS NOT NULL',
      'DROP INDEX webhooks_listed_idx',
      'ALTER TABLE webhooks DROP COLUMN recording_id',
    ]);
    await changeCatalog(runner, 'recordings', [
      // Nobody fetches them any more, so that they can be claimed and fail.
      `UPDATE recordings SET lease_until = NULL WHERE id IN (SELECT recording_id FROM recording_links)
         AND lease_until = 'infinity'`,
      'DROP TABLE recording_links',
    ]);
  }
}
