import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog } from '../platform/database/migration-steps.js';

const ISSUERS = `
  CREATE TABLE IF NOT EXISTS token_issuers (
    id uuid CONSTRAINT token_issuers_pkey PRIMARY KEY,
    account_id uuid NOT NULL CONSTRAINT token_issuers_account_fkey REFERENCES accounts ON DELETE CASCADE,
    issuer text NOT NULL,
    jwks_url text,
    -- A list of public keys, as JWK.
    keys jsonb,
    allows text[] NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT token_issuers_keys_check CHECK ((jwks_url IS NULL) <> (keys IS NULL))
  )`;

/** Issuers whose tokens an account accepts (D94). */
export class TokenIssuers1795601100000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'accounts', [
      ISSUERS,
      'CREATE INDEX IF NOT EXISTS token_issuers_account_idx ON token_issuers (account_id, created_at DESC, id DESC)',
    ]);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'accounts', ['DROP TABLE token_issuers']);
  }
}
