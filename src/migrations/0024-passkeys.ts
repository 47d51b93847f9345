import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog } from '../platform/database/migration-steps.js';

const PASSKEYS = [
  `CREATE TABLE IF NOT EXISTS passkeys (
     id uuid CONSTRAINT passkeys_pkey PRIMARY KEY,
     person_id uuid NOT NULL CONSTRAINT passkeys_person_fkey REFERENCES people ON DELETE CASCADE,
     credential_id text NOT NULL CONSTRAINT passkeys_credential_key UNIQUE,
     public_key text NOT NULL,
     counter bigint NOT NULL,
     transports text[] NOT NULL,
     name text NOT NULL,
     created_at timestamptz NOT NULL,
     last_used_at timestamptz
   )`,
  'CREATE INDEX IF NOT EXISTS passkeys_person_idx ON passkeys (person_id)',
];

/** The constraint holds for new rows: the others are as old. */
const SESSIONS = [
  `ALTER TABLE sessions
     DROP CONSTRAINT IF EXISTS sessions_began_with_check,
     ADD CONSTRAINT sessions_began_with_check
       CHECK (began_with IN ('password', 'link', 'provider', 'passkey')) NOT VALID`,
];

/** Passkeys with which people sign in (D103). */
export class Passkeys1795601800000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'people', PASSKEYS);
    await changeCatalog(runner, 'sessions', SESSIONS);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'sessions', [
      `DELETE FROM sessions WHERE began_with = 'passkey'`,
      `ALTER TABLE sessions DROP CONSTRAINT sessions_began_with_check,
         ADD CONSTRAINT sessions_began_with_check CHECK (began_with IN ('password', 'link', 'provider'))`,
    ]);
    await changeCatalog(runner, 'people', ['DROP TABLE passkeys']);
  }
}
