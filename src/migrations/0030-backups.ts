import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog } from '../platform/database/migration-steps.js';

/** No column `account_id`: an entry must survive the account that it is about. */
const ERASURES = `
  CREATE TABLE IF NOT EXISTS erasures (
    id uuid DEFAULT gen_random_uuid() CONSTRAINT erasures_pkey PRIMARY KEY,
    kind text NOT NULL,
    -- What was erased; of a user, the account.
    subject_id uuid NOT NULL,
    -- Of a user: SHA-256 of the account's id, a slash and the user's id, so that nobody is named here.
    digest text,
    at timestamptz NOT NULL DEFAULT now(),
    is_written boolean NOT NULL DEFAULT false
  ) WITH (autovacuum_vacuum_scale_factor = 0.05)`;

const INDEXES = [
  'CREATE INDEX IF NOT EXISTS erasures_unwritten_idx ON erasures (at) WHERE NOT is_written',
  'CREATE INDEX IF NOT EXISTS erasures_at_idx ON erasures (at)',
];

/** One row. The id tells the backups of this installation from those of another in the same place. */
const STATE = `
  CREATE TABLE IF NOT EXISTS backup_state (
    id integer CONSTRAINT backup_state_pkey PRIMARY KEY CONSTRAINT backup_state_single_check CHECK (id = 1),
    installation_id uuid NOT NULL DEFAULT gen_random_uuid(),
    last_success_at timestamptz,
    last_backup text
  )`;

/**
 * With the rights of the owner, because each role deletes something. A person who loses a password is still there: only
 * the password is not restored.
 */
const FUNCTIONS = [
  `CREATE OR REPLACE FUNCTION note_erasures() RETURNS trigger
   LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     INSERT INTO erasures (kind, subject_id) SELECT TG_ARGV[0], id FROM gone;
     RETURN NULL;
   END $$`,
  `CREATE OR REPLACE FUNCTION note_erasure() RETURNS trigger
   LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     INSERT INTO erasures (kind, subject_id) VALUES (TG_ARGV[0], NEW.id);
     RETURN NULL;
   END $$`,
  `CREATE OR REPLACE FUNCTION note_user_erasure() RETURNS trigger
   LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
   BEGIN
     INSERT INTO erasures (kind, subject_id, digest) VALUES ('user', NEW.account_id,
       encode(sha256(convert_to(NEW.account_id || '/' || NEW.user_id, 'UTF8')), 'hex'));
     RETURN NULL;
   END $$`,
];

/** By table, what the deletion of its rows is called. */
const DELETED: Record<string, string> = {
  recordings: 'recording',
  accounts: 'account',
  people: 'person',
  memberships: 'membership',
  webhooks: 'webhook',
  shares: 'share',
  passkeys: 'passkey',
  identities: 'identity',
  token_issuers: 'token_issuer',
};

const onDelete = (table: string, kind: string): string =>
  `CREATE OR REPLACE TRIGGER ${table}_note_erasures AFTER DELETE ON ${table} REFERENCING OLD TABLE AS gone
   FOR EACH STATEMENT EXECUTE FUNCTION note_erasures('${kind}')`;

/** What is taken away by a change of a row. */
const CHANGED: Record<string, string> = {
  recordings: `CREATE OR REPLACE TRIGGER recordings_note_audio AFTER UPDATE OF audio_deleted_at ON recordings FOR EACH ROW
     WHEN (OLD.audio_deleted_at IS NULL AND NEW.audio_deleted_at IS NOT NULL) EXECUTE FUNCTION note_erasure('audio')`,
  api_keys: `CREATE OR REPLACE TRIGGER api_keys_note_revocation AFTER UPDATE OF revoked_at ON api_keys FOR EACH ROW
     WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION note_erasure('api_key')`,
  people: `CREATE OR REPLACE TRIGGER people_note_password AFTER UPDATE OF password_hash ON people FOR EACH ROW
     WHEN (OLD.password_hash IS DISTINCT FROM NEW.password_hash) EXECUTE FUNCTION note_erasure('password')`,
  user_erasures: `CREATE OR REPLACE TRIGGER user_erasures_note AFTER INSERT OR UPDATE ON user_erasures
     FOR EACH ROW EXECUTE FUNCTION note_user_erasure()`,
};

/** What a restored backup must not bring back, and when the last backup was made (docs/decisions/0047). */
export class Backups1795602400000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'accounts', [
      ERASURES,
      ...INDEXES,
      STATE,
      'INSERT INTO backup_state (id) VALUES (1) ON CONFLICT DO NOTHING',
      ...FUNCTIONS,
    ]);
    for (const [table, kind] of Object.entries(DELETED)) await changeCatalog(runner, table, [onDelete(table, kind)]);
    for (const [table, trigger] of Object.entries(CHANGED)) await changeCatalog(runner, table, [trigger]);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of Object.keys(DELETED)) {
      await changeCatalog(runner, table, [`DROP TRIGGER ${table}_note_erasures ON ${table}`]);
    }
    const names = { recordings: 'note_audio', api_keys: 'note_revocation', people: 'note_password' };
    for (const [table, name] of Object.entries(names)) {
      await changeCatalog(runner, table, [`DROP TRIGGER ${table}_${name} ON ${table}`]);
    }
    await changeCatalog(runner, 'user_erasures', ['DROP TRIGGER user_erasures_note ON user_erasures']);
    await changeCatalog(runner, 'accounts', [
      'DROP FUNCTION note_erasures',
      'DROP FUNCTION note_erasure',
      'DROP FUNCTION note_user_erasure',
      'DROP TABLE erasures',
      'DROP TABLE backup_state',
    ]);
  }
}
