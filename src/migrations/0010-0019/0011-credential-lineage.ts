import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A busy table is waited for briefly, so that requests do not queue behind the migration. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

const UP = [
  LOCK_TIMEOUT,
  `ALTER TABLE api_keys ADD COLUMN created_by uuid
     CONSTRAINT api_keys_created_by_fkey REFERENCES api_keys ON DELETE SET NULL`,
  'CREATE INDEX api_keys_created_by_idx ON api_keys (created_by) WHERE created_by IS NOT NULL',

  // Access tokens that were issued before a credential version of the account. No identity: all of them.
  `CREATE TABLE access_token_voids (
     account_id uuid NOT NULL CONSTRAINT access_token_voids_account_fkey REFERENCES accounts ON DELETE CASCADE,
     identity_hash text NOT NULL,
     valid_from integer NOT NULL,
     voided_at timestamptz NOT NULL,
     CONSTRAINT access_token_voids_pkey PRIMARY KEY (account_id, identity_hash)
   )`,
  'CREATE INDEX access_token_voids_age_idx ON access_token_voids (account_id, voided_at)',
];

const DOWN = [
  LOCK_TIMEOUT,
  'DROP TABLE access_token_voids',
  'DROP INDEX api_keys_created_by_idx',
  'ALTER TABLE api_keys DROP COLUMN created_by',
];

/** Which key made a key, and which access tokens were voided. */
export class CredentialLineage1764547200000 implements MigrationInterface {
  name = 'CredentialLineage1764547200000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
