import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A busy table is waited for briefly, so that requests do not queue behind the migration. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

/** Columns of `accounts` whose change makes cached credentials out of date. */
const credentialVersionTrigger = (columns: string): string[] => [
  'DROP TRIGGER accounts_raise_credential_version ON accounts',
  `CREATE TRIGGER accounts_raise_credential_version BEFORE UPDATE OF ${columns} ON accounts
     FOR EACH ROW EXECUTE FUNCTION accounts_raise_credential_version()`,
];

const UP = [
  LOCK_TIMEOUT,
  `ALTER TABLE accounts
     ADD COLUMN quotas jsonb NOT NULL DEFAULT '{}',
     ADD COLUMN finish_queue boolean NOT NULL DEFAULT false,
     ADD CONSTRAINT accounts_quotas_check CHECK (jsonb_typeof(quotas) = 'object')`,
  ...credentialVersionTrigger('status, plan, rate_limit, burst_limit, quotas'),
  `CREATE INDEX accounts_on_hold_idx ON accounts (id) WHERE status = 'suspended' AND NOT finish_queue`,
  'ALTER TABLE usage_counters ADD COLUMN queued_ms bigint NOT NULL DEFAULT 0',
  'ALTER TABLE usage_counter_deltas ADD COLUMN queued_ms bigint NOT NULL DEFAULT 0',
  `INSERT INTO usage_counter_deltas (account_id, day, status, listed, accepted, duration_ms, bytes, queued_ms)
     SELECT account_id, (created_at AT TIME ZONE 'UTC')::date, 'processing', 0, 0, 0, 0, sum(duration_ms)
     FROM recordings WHERE status = 'processing' GROUP BY 1, 2`,
];

const DOWN = [
  LOCK_TIMEOUT,
  'ALTER TABLE usage_counter_deltas DROP COLUMN queued_ms',
  'ALTER TABLE usage_counters DROP COLUMN queued_ms',
  'DROP INDEX accounts_on_hold_idx',
  ...credentialVersionTrigger('status, plan, rate_limit, burst_limit'),
  'ALTER TABLE accounts DROP COLUMN finish_queue, DROP COLUMN quotas',
];

/** Quotas that the operator sets for an account, audio that waits for its transcription, and queues that stand still. */
export class Quotas1764028800000 implements MigrationInterface {
  name = 'Quotas1764028800000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
