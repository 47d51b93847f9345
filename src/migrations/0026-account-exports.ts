import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog } from '../platform/database/migration-steps.js';

const EXPORTS = `
  CREATE TABLE IF NOT EXISTS account_exports (
    account_id uuid CONSTRAINT account_exports_pkey PRIMARY KEY
      CONSTRAINT account_exports_account_fkey REFERENCES accounts ON DELETE CASCADE,
    id uuid NOT NULL,
    status text NOT NULL CONSTRAINT account_exports_status_check CHECK (status IN ('preparing', 'ready', 'failed')),
    -- Of the process that makes the archive.
    lease_until timestamptz NOT NULL,
    -- Objects in storage: the archive, in pieces of one size.
    parts integer NOT NULL DEFAULT 0,
    size_bytes bigint,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT account_exports_size_check CHECK ((status = 'ready') = (size_bytes IS NOT NULL))
  )`;

/** Archives of all that an account has (D105). Few accounts have one. */
export class AccountExports1795602000000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'accounts', [EXPORTS]);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'accounts', ['DROP TABLE account_exports']);
  }
}
