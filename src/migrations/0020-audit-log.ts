import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog } from '../platform/database/migration-steps.js';

const ENTRIES = `
  CREATE TABLE IF NOT EXISTS audit_entries (
    id uuid CONSTRAINT audit_entries_pkey PRIMARY KEY,
    account_id uuid NOT NULL CONSTRAINT audit_entries_account_fkey REFERENCES accounts ON DELETE CASCADE,
    -- From 1 on, in the chain of the account; given after the commit, with both hashes.
    number bigint,
    previous_hash text,
    hash text,
    at timestamptz NOT NULL,
    action text NOT NULL,
    outcome text NOT NULL,
    actor_kind text NOT NULL,
    key_id text,
    person_id text,
    token_id text,
    -- Personal data: what is erased is null, and so is its salt.
    user_id text,
    address text,
    user_agent text,
    salt text,
    personal_hash text,
    request_id text,
    target_id text,
    targets jsonb NOT NULL,
    before jsonb,
    after jsonb,
    CONSTRAINT audit_entries_outcome_check CHECK (outcome IN ('success', 'failure')),
    CONSTRAINT audit_entries_number_key UNIQUE (account_id, number)
  )`;

/** One row for each account with entries: the end of its chain, and where the chain begins. */
const LOGS = `
  CREATE TABLE IF NOT EXISTS audit_logs (
    account_id uuid CONSTRAINT audit_logs_pkey PRIMARY KEY
      CONSTRAINT audit_logs_account_fkey REFERENCES accounts ON DELETE CASCADE,
    last_number bigint NOT NULL DEFAULT 0,
    last_hash text NOT NULL DEFAULT '',
    -- The last entry that was removed at the end of its retention.
    removed_number bigint NOT NULL DEFAULT 0,
    removed_hash text NOT NULL DEFAULT '',
    records_reads boolean NOT NULL DEFAULT false,
    retain_days integer
  )`;

/** Who did what in an account (D98). */
export class AuditLog1795601400000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'accounts', [
      ENTRIES,
      LOGS,
      // Entries without a number leave this index when they get one. The others have only those with a number, so that a
      // change pays for none of them.
      `CREATE INDEX IF NOT EXISTS audit_entries_unsealed_idx ON audit_entries (account_id, id) WHERE number IS NULL`,
      `CREATE INDEX IF NOT EXISTS audit_entries_action_idx ON audit_entries (account_id, action, number)
         WHERE number IS NOT NULL`,
      `CREATE INDEX IF NOT EXISTS audit_entries_target_idx ON audit_entries (account_id, target_id, number)
         WHERE number IS NOT NULL`,
      `CREATE INDEX IF NOT EXISTS audit_entries_user_idx ON audit_entries (account_id, user_id)
         WHERE user_id IS NOT NULL`,
    ]);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'accounts', ['DROP TABLE audit_entries', 'DROP TABLE audit_logs']);
  }
}
