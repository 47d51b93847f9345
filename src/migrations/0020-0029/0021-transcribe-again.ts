import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A busy table is waited for briefly, so that requests do not queue behind the migration. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

/** What may be NULL, and what must not be, in each status. A transcribed recording has a lease only while it is run again. */
const stateCheck = (transcribed: string, others: string): string => `
  ALTER TABLE recordings ADD CONSTRAINT recordings_state_check CHECK (CASE status
    WHEN 'processing' THEN processed_at IS NULL AND features IS NULL AND failure_reason IS NULL ${others}
    WHEN 'transcribed' THEN processed_at IS NOT NULL AND features IS NOT NULL
      AND failure_reason IS NULL AND ${transcribed}
    ELSE processed_at IS NOT NULL AND features IS NULL AND failure_reason IS NOT NULL AND lease_token IS NULL ${others}
  END) NOT VALID`;

/** What the catalog alone changes. Each step can be repeated, because they do not share a transaction. */
const COLUMNS = [
  LOCK_TIMEOUT,
  `ALTER TABLE recordings
     ADD COLUMN IF NOT EXISTS rerun text,
     ADD COLUMN IF NOT EXISTS rerun_at timestamptz,
     ADD COLUMN IF NOT EXISTS requested_engine text,
     DROP CONSTRAINT IF EXISTS recordings_rerun_check,
     DROP CONSTRAINT recordings_state_check`,
  `ALTER TABLE recordings ADD CONSTRAINT recordings_rerun_check CHECK ((rerun IS NULL) = (rerun_at IS NULL)
     AND (rerun IS NULL OR rerun IN ('requested', 'background', 'quiet'))) NOT VALID`,
  stateCheck('(lease_token IS NULL OR rerun IS NOT NULL)', 'AND rerun IS NULL'),
  `CREATE TABLE IF NOT EXISTS earlier_transcriptions (
     id uuid CONSTRAINT earlier_transcriptions_pkey PRIMARY KEY,
     recording_id uuid NOT NULL
       CONSTRAINT earlier_transcriptions_recording_fkey REFERENCES recordings ON DELETE CASCADE,
     text text NOT NULL,
     confidence double precision NOT NULL,
     language text NOT NULL,
     provider text NOT NULL,
     model text NOT NULL,
     processing_duration_ms integer NOT NULL,
     created_at timestamptz NOT NULL
   )`,
  `CREATE INDEX IF NOT EXISTS earlier_transcriptions_recording_idx
     ON earlier_transcriptions (recording_id, created_at DESC, id DESC)`,
  // How far the recordings of an account are marked to be transcribed again; the accounts of one command share a job.
  `CREATE TABLE IF NOT EXISTS retranscriptions (
     account_id uuid CONSTRAINT retranscriptions_pkey PRIMARY KEY
       CONSTRAINT retranscriptions_account_fkey REFERENCES accounts ON DELETE CASCADE,
     job_id uuid NOT NULL,
     model_not text NOT NULL,
     created_from timestamptz NOT NULL,
     created_until timestamptz NOT NULL,
     rate integer CONSTRAINT retranscriptions_rate_check CHECK (rate > 0),
     quiet boolean NOT NULL,
     before_at timestamptz NOT NULL,
     before_id uuid NOT NULL,
     total integer NOT NULL,
     marked integer NOT NULL DEFAULT 0,
     marked_ms bigint NOT NULL DEFAULT 0,
     marked_at timestamptz NOT NULL,
     failed integer NOT NULL DEFAULT 0,
     started_at timestamptz NOT NULL,
     ended_at timestamptz,
     is_canceled boolean NOT NULL DEFAULT false
   )`,
];

const VALIDATION = ['recordings_rerun_check', 'recordings_state_check'].map(
  (name) => `ALTER TABLE recordings VALIDATE CONSTRAINT ${name}`,
);

const REQUESTED = `(status = 'processing' OR rerun = 'requested')`;

/** Outside a transaction, so that uploads go on. An attempt that was broken off leaves an invalid index. */
const index = (name: string, definition: string): string[] => [
  `DROP INDEX CONCURRENTLY IF EXISTS ${name}`,
  `CREATE INDEX CONCURRENTLY ${name} ON recordings ${definition}`,
];

/** For `recording-claims.queries.ts`: what waits, what was claimed before, and what waits behind all others. */
const INDEXES = [
  ...index(
    'recordings_queue_idx',
    `(account_id, coalesce(rerun_at, created_at), id) WHERE ${REQUESTED} AND lease_until IS NULL`,
  ),
  ...index('recordings_claimed_idx', `(account_id, lease_until) WHERE ${REQUESTED} AND lease_until IS NOT NULL`),
  ...index('recordings_background_idx', `(rerun_at, id) WHERE rerun IN ('background', 'quiet')`),
  ...index(
    'recordings_given_up_idx',
    `(lease_until) WHERE (status = 'processing' OR rerun IS NOT NULL) AND attempt >= 20`,
  ),
  ...['waiting', 'leased', 'exhausted'].map((name) => `DROP INDEX CONCURRENTLY IF EXISTS recordings_${name}_idx`),
];

const DOWN = [
  LOCK_TIMEOUT,
  'DROP TABLE retranscriptions, earlier_transcriptions',
  `UPDATE recordings SET rerun = NULL, rerun_at = NULL, lease_token = NULL, lease_until = NULL WHERE rerun IS NOT NULL`,
  'ALTER TABLE recordings DROP CONSTRAINT recordings_state_check',
  stateCheck('lease_token IS NULL', ''),
  'ALTER TABLE recordings VALIDATE CONSTRAINT recordings_state_check',
  'DROP INDEX recordings_queue_idx, recordings_claimed_idx, recordings_background_idx, recordings_given_up_idx',
  'ALTER TABLE recordings DROP COLUMN rerun, DROP COLUMN rerun_at, DROP COLUMN requested_engine',
  `CREATE INDEX recordings_waiting_idx ON recordings (account_id, created_at, id)
     WHERE status = 'processing' AND lease_until IS NULL`,
  `CREATE INDEX recordings_leased_idx ON recordings (account_id, lease_until)
     WHERE status = 'processing' AND lease_until IS NOT NULL`,
  `CREATE INDEX recordings_exhausted_idx ON recordings (lease_until) WHERE status = 'processing' AND attempt >= 20`,
];

/** Lets a transcribed recording be transcribed again while its text is served, and keeps the earlier texts (D49). */
export class TranscribeAgain1765411200000 implements MigrationInterface {
  name = 'TranscribeAgain1765411200000';
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await inTransaction(runner, COLUMNS);
    for (const statement of [...VALIDATION, ...INDEXES]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await inTransaction(runner, DOWN);
  }
}

async function inTransaction(runner: QueryRunner, statements: readonly string[]): Promise<void> {
  await runner.startTransaction();
  try {
    for (const statement of statements) await runner.query(statement);
    await runner.commitTransaction();
  } catch (error) {
    await runner.rollbackTransaction();
    throw error;
  }
}
