import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog } from '../platform/database/migration-steps.js';

const TABLES = [
  `CREATE TABLE IF NOT EXISTS people (
     id uuid CONSTRAINT people_pkey PRIMARY KEY,
     name text NOT NULL,
     -- Not unique: people are never told apart, nor linked, by it.
     email text NOT NULL,
     password_hash text,
     -- The same for all people with one e-mail address.
     password_salt text,
     created_at timestamptz NOT NULL,
     updated_at timestamptz NOT NULL,
     CONSTRAINT people_password_check CHECK ((password_hash IS NULL) = (password_salt IS NULL))
   )`,
  'CREATE INDEX IF NOT EXISTS people_email_idx ON people (lower(email))',
  `CREATE TABLE IF NOT EXISTS memberships (
     id uuid CONSTRAINT memberships_pkey PRIMARY KEY,
     account_id uuid NOT NULL CONSTRAINT memberships_account_fkey REFERENCES accounts ON DELETE CASCADE,
     person_id uuid NOT NULL CONSTRAINT memberships_person_fkey REFERENCES people ON DELETE CASCADE,
     role text NOT NULL CONSTRAINT memberships_role_check CHECK (role IN ('owner', 'admin', 'editor', 'viewer')),
     created_at timestamptz NOT NULL,
     updated_at timestamptz NOT NULL,
     CONSTRAINT memberships_person_key UNIQUE (person_id, account_id)
   )`,
  'CREATE INDEX IF NOT EXISTS memberships_account_idx ON memberships (account_id, created_at, id)',
  `CREATE TABLE IF NOT EXISTS sessions (
     id uuid CONSTRAINT sessions_pkey PRIMARY KEY,
     token_hash text NOT NULL CONSTRAINT sessions_token_key UNIQUE,
     person_id uuid NOT NULL CONSTRAINT sessions_person_fkey REFERENCES people ON DELETE CASCADE,
     account_id uuid NOT NULL CONSTRAINT sessions_account_fkey REFERENCES accounts ON DELETE CASCADE,
     began_with text NOT NULL CONSTRAINT sessions_began_with_check CHECK (began_with IN ('password', 'link')),
     address text,
     user_agent text,
     created_at timestamptz NOT NULL,
     last_seen_at timestamptz NOT NULL,
     expires_at timestamptz NOT NULL
   )`,
  'CREATE INDEX IF NOT EXISTS sessions_person_idx ON sessions (person_id, created_at DESC, id DESC)',
  'CREATE INDEX IF NOT EXISTS sessions_account_idx ON sessions (account_id)',
  `CREATE TABLE IF NOT EXISTS sign_in_links (
     id uuid CONSTRAINT sign_in_links_pkey PRIMARY KEY,
     token_hash text NOT NULL CONSTRAINT sign_in_links_token_key UNIQUE,
     account_id uuid NOT NULL CONSTRAINT sign_in_links_account_fkey REFERENCES accounts ON DELETE CASCADE,
     -- The person whom it signs in; of an invitation, nobody.
     person_id uuid CONSTRAINT sign_in_links_person_fkey REFERENCES people ON DELETE CASCADE,
     -- Of an invitation.
     email text,
     role text CONSTRAINT sign_in_links_role_check CHECK (role IN ('owner', 'admin', 'editor', 'viewer')),
     created_by_person uuid,
     created_by_key uuid,
     created_at timestamptz NOT NULL,
     expires_at timestamptz NOT NULL,
     CONSTRAINT sign_in_links_kind_check CHECK ((person_id IS NULL) = (email IS NOT NULL AND role IS NOT NULL))
   )`,
  'CREATE INDEX IF NOT EXISTS sign_in_links_account_idx ON sign_in_links (account_id, created_at DESC, id DESC)',
  'CREATE INDEX IF NOT EXISTS sign_in_links_person_idx ON sign_in_links (person_id)',
  // Nothing is kept of a person who belongs to no account, however the last membership ends.
  `CREATE OR REPLACE FUNCTION remove_person_without_account() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     DELETE FROM people p WHERE p.id = OLD.person_id
       AND NOT EXISTS (SELECT FROM memberships m WHERE m.person_id = p.id);
     RETURN NULL;
   END $$`,
  `CREATE OR REPLACE TRIGGER memberships_remove_person AFTER DELETE ON memberships
   FOR EACH ROW EXECUTE FUNCTION remove_person_without_account()`,
];

/** People, the accounts that they belong to, and their sessions (D97). */
export class People1795601300000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'accounts', TABLES);
    await changeCatalog(runner, 'api_keys', ['ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS created_by_person uuid']);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'api_keys', ['ALTER TABLE api_keys DROP COLUMN created_by_person']);
    await changeCatalog(runner, 'accounts', [
      'DROP TABLE sign_in_links',
      'DROP TABLE sessions',
      'DROP TABLE memberships',
      'DROP TABLE people',
      'DROP FUNCTION remove_person_without_account',
    ]);
  }
}
