import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog, createIndexConcurrently } from '../platform/database/migration-steps.js';

/** Links to recordings for people without an account (D96). */
export class Shares1795601200000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'recordings', [
      `CREATE TABLE IF NOT EXISTS shares (
         id uuid CONSTRAINT shares_pkey PRIMARY KEY,
         account_id uuid NOT NULL,
         recording_id uuid NOT NULL CONSTRAINT shares_recording_fkey REFERENCES recordings ON DELETE CASCADE,
         token_hash text NOT NULL CONSTRAINT shares_token_key UNIQUE,
         password_hash text,
         includes_audio boolean NOT NULL,
         expires_at timestamptz,
         opened_count integer NOT NULL DEFAULT 0,
         last_opened_at timestamptz,
         created_by uuid,
         created_at timestamptz NOT NULL
       )`,
    ]);
    await createIndexConcurrently(runner, 'shares_recording_idx', 'shares (recording_id, created_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'recordings', ['DROP TABLE shares']);
  }
}
