import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A busy table is waited for briefly, so that requests do not queue behind this. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

/** Tables whose rows come and go. By default a fifth of a table must be dead before it is vacuumed. */
const QUEUES = ['deliveries', 'idempotency_keys', 'object_removals', 'usage_counter_deltas'];
const AUTOVACUUM = 'autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, autovacuum_analyze_scale_factor';
const AUTOVACUUM_VALUES = `autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.05`;

const TRANSCRIPTION_SHARES = `
  CREATE TABLE transcription_shares (
    account_id uuid CONSTRAINT transcription_shares_pkey PRIMARY KEY
      CONSTRAINT transcription_shares_account_fkey REFERENCES accounts ON DELETE CASCADE,
    virtual_start bigint NOT NULL,
    virtual_end bigint NOT NULL
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1)`;

const UP = [
  LOCK_TIMEOUT,
  TRANSCRIPTION_SHARES,
  `CREATE INDEX transcription_shares_start_idx ON transcription_shares (virtual_start)`,
  // For `recording-claims.queries.ts`: the queue of each account, and what was claimed before.
  `CREATE INDEX recordings_waiting_idx ON recordings (account_id, created_at, id)
     WHERE status = 'processing' AND lease_until IS NULL`,
  `CREATE INDEX recordings_leased_idx ON recordings (account_id, lease_until)
     WHERE status = 'processing' AND lease_until IS NOT NULL`,
  `CREATE INDEX recordings_exhausted_idx ON recordings (lease_until) WHERE status = 'processing' AND attempt >= 20`,
  'DROP INDEX recordings_processing_idx',
  `ALTER TABLE recordings SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)`,
  ...QUEUES.map((table) => `ALTER TABLE ${table} SET (${AUTOVACUUM_VALUES})`),
];

const DOWN = [
  LOCK_TIMEOUT,
  ...QUEUES.map((table) => `ALTER TABLE ${table} RESET (${AUTOVACUUM})`),
  'ALTER TABLE recordings RESET (autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor)',
  `CREATE INDEX recordings_processing_idx ON recordings (created_at) WHERE status = 'processing'`,
  'DROP INDEX recordings_exhausted_idx',
  'DROP INDEX recordings_leased_idx',
  'DROP INDEX recordings_waiting_idx',
  'DROP TABLE transcription_shares',
];

/** Lets accounts share the engines by seconds of audio, and keeps the tables of queues small. */
export class FairQueues1764201600000 implements MigrationInterface {
  name = 'FairQueues1764201600000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
