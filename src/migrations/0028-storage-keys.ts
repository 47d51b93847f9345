import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog } from '../platform/database/migration-steps.js';

const KEYS = `
  CREATE TABLE IF NOT EXISTS storage_keys (
    account_id uuid NOT NULL CONSTRAINT storage_keys_account_fkey REFERENCES accounts ON DELETE CASCADE,
    version integer NOT NULL CONSTRAINT storage_keys_version_check CHECK (version > 0),
    wrapped_key text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT storage_keys_pkey PRIMARY KEY (account_id, version)
  )`;

/** Keys of accounts for their audio in storage, and where the parts of an export lie (docs/decisions/0049). */
export class StorageKeys1795602200000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'accounts', [KEYS]);
    await changeCatalog(runner, 'account_exports', [
      'ALTER TABLE account_exports ADD COLUMN IF NOT EXISTS prefix text',
    ]);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'account_exports', ['ALTER TABLE account_exports DROP COLUMN prefix']);
    await changeCatalog(runner, 'accounts', ['DROP TABLE storage_keys']);
  }
}
