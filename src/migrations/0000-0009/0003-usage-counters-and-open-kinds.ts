import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Every step changes the catalog only; a busy table is waited for briefly, so that requests do not queue behind it. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

/** Kinds of events of which each run of a recording has exactly one. */
const TERMINAL_KINDS = `('recording.transcribed', 'recording.failed')`;

const RENAMED_TABLES = [
  { from: 'recording_tallies', to: 'usage_counters' },
  { from: 'recording_tally_deltas', to: 'usage_counter_deltas' },
];

/** Functions and triggers that raise the version; the functions name the column, so they are written anew. */
const credentialVersionTriggers = (column: string, verb: string): string[] => [
  `CREATE FUNCTION accounts_${verb}() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     NEW.${column} := OLD.${column} + 1;
     RETURN NEW;
   END $$`,
  `CREATE TRIGGER accounts_${verb} BEFORE UPDATE OF status, plan, rate_limit, burst_limit ON accounts
     FOR EACH ROW EXECUTE FUNCTION accounts_${verb}()`,
  `CREATE FUNCTION api_keys_${verb}() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     UPDATE accounts SET ${column} = ${column} + 1 WHERE id = OLD.account_id;
     RETURN NULL;
   END $$`,
  `CREATE TRIGGER api_keys_${verb} AFTER DELETE OR UPDATE OF secret_hash, scopes, expires_at, revoked_at ON api_keys
     FOR EACH ROW EXECUTE FUNCTION api_keys_${verb}()`,
];

const dropCredentialVersionTriggers = (verb: string): string[] =>
  ['api_keys', 'accounts'].flatMap((table) => [
    `DROP TRIGGER ${table}_${verb} ON ${table}`,
    `DROP FUNCTION ${table}_${verb}`,
  ]);

const renameTable = (from: string, to: string): string[] => [
  `ALTER TABLE ${from} RENAME TO ${to}`,
  `ALTER TABLE ${to} RENAME CONSTRAINT ${from}_pkey TO ${to}_pkey`,
  `ALTER TABLE ${to} RENAME CONSTRAINT ${from}_account_fkey TO ${to}_account_fkey`,
];

const stateGuard = (message: string, values: string): string => `
  CREATE OR REPLACE FUNCTION recordings_guard_state() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF OLD.status <> 'processing' AND NEW.status <> OLD.status
       AND NOT (OLD.status = 'failed' AND NEW.status = 'processing' AND NEW.run = OLD.run + 1) THEN
      RAISE EXCEPTION '${message}', ${values} USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`;

const UP = [
  LOCK_TIMEOUT,
  stateGuard('recording % is %: its status cannot become %', 'OLD.id, OLD.status, NEW.status'),
  ...RENAMED_TABLES.flatMap(({ from, to }) => renameTable(from, to)),
  'ALTER INDEX recording_tally_deltas_account_idx RENAME TO usage_counter_deltas_account_idx',
  'ALTER SEQUENCE recording_tally_deltas_id_seq RENAME TO usage_counter_deltas_id_seq',

  ...dropCredentialVersionTriggers('move_epoch'),
  'ALTER TABLE accounts RENAME COLUMN epoch TO credential_version',
  ...credentialVersionTriggers('credential_version', 'raise_credential_version'),

  // Extensions register plans and kinds of events, and their events need not be about a recording.
  'ALTER TABLE accounts DROP CONSTRAINT accounts_plan_check',
  `CREATE UNIQUE INDEX events_recording_terminal_key ON events (recording_id, run) WHERE kind IN ${TERMINAL_KINDS}`,
  'ALTER TABLE events DROP CONSTRAINT events_recording_run_key',
  'ALTER TABLE events DROP CONSTRAINT events_kind_check',
  'ALTER TABLE events ALTER recording_id DROP NOT NULL, ALTER run DROP NOT NULL',
  `ALTER TABLE events ADD CONSTRAINT events_recording_check
     CHECK (kind NOT IN ${TERMINAL_KINDS} OR (recording_id IS NOT NULL AND run IS NOT NULL)) NOT VALID`,
];

/** Fails while there are plans, or events, that only extensions know. */
const DOWN = [
  LOCK_TIMEOUT,
  'ALTER TABLE events DROP CONSTRAINT events_recording_check',
  'ALTER TABLE events ALTER recording_id SET NOT NULL, ALTER run SET NOT NULL',
  `ALTER TABLE events ADD CONSTRAINT events_kind_check CHECK (kind IN ${TERMINAL_KINDS})`,
  'ALTER TABLE events ADD CONSTRAINT events_recording_run_key UNIQUE (recording_id, run)',
  'DROP INDEX events_recording_terminal_key',
  `ALTER TABLE accounts ADD CONSTRAINT accounts_plan_check CHECK (plan IN ('free', 'pro', 'enterprise'))`,

  ...dropCredentialVersionTriggers('raise_credential_version'),
  'ALTER TABLE accounts RENAME COLUMN credential_version TO epoch',
  ...credentialVersionTriggers('epoch', 'move_epoch'),

  'ALTER SEQUENCE usage_counter_deltas_id_seq RENAME TO recording_tally_deltas_id_seq',
  'ALTER INDEX usage_counter_deltas_account_idx RENAME TO recording_tally_deltas_account_idx',
  ...RENAMED_TABLES.flatMap(({ from, to }) => renameTable(to, from)),
  stateGuard('recording % is % and stays so', 'OLD.id, OLD.status'),
];

/** Renames tables and columns as in the code, and permits plans and event kinds of extensions. */
export class UsageCountersAndOpenKinds1763856000000 implements MigrationInterface {
  name = 'UsageCountersAndOpenKinds1763856000000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
