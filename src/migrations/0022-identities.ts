import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog } from '../platform/database/migration-steps.js';

const IDENTITIES = [
  `CREATE TABLE IF NOT EXISTS identities (
     id uuid CONSTRAINT identities_pkey PRIMARY KEY,
     person_id uuid NOT NULL CONSTRAINT identities_person_fkey REFERENCES people ON DELETE CASCADE,
     issuer text NOT NULL,
     subject text NOT NULL,
     created_at timestamptz NOT NULL,
     CONSTRAINT identities_subject_key UNIQUE (subject, issuer)
   )`,
  'CREATE INDEX IF NOT EXISTS identities_person_idx ON identities (person_id)',
];

/** An identity ends with its person, and so do the sessions. The constraint holds for new rows: the others are as old. */
const SESSIONS = [
  `ALTER TABLE sessions
     ADD COLUMN IF NOT EXISTS identity_id uuid,
     ADD COLUMN IF NOT EXISTS provider text,
     ADD COLUMN IF NOT EXISTS provider_token text,
     ADD COLUMN IF NOT EXISTS checked_at timestamptz,
     ADD COLUMN IF NOT EXISTS confirmed_at timestamptz,
     DROP CONSTRAINT IF EXISTS sessions_began_with_check,
     ADD CONSTRAINT sessions_began_with_check CHECK (began_with IN ('password', 'link', 'provider')) NOT VALID`,
];

/** People who sign in at an OpenID provider (D102). */
export class Identities1795601600000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'people', IDENTITIES);
    await changeCatalog(runner, 'sessions', SESSIONS);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'sessions', [
      `DELETE FROM sessions WHERE began_with = 'provider'`,
      `ALTER TABLE sessions DROP COLUMN identity_id, DROP COLUMN provider, DROP COLUMN provider_token,
         DROP COLUMN checked_at, DROP COLUMN confirmed_at, DROP CONSTRAINT sessions_began_with_check,
         ADD CONSTRAINT sessions_began_with_check CHECK (began_with IN ('password', 'link'))`,
    ]);
    await changeCatalog(runner, 'people', ['DROP TABLE identities']);
  }
}
