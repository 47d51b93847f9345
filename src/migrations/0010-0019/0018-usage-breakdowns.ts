import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A busy table is waited for briefly, so that requests do not queue behind the migration. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

const USAGE_BREAKDOWNS = `
  CREATE TABLE usage_breakdowns (
    account_id uuid NOT NULL CONSTRAINT usage_breakdowns_account_fkey REFERENCES accounts ON DELETE CASCADE,
    dimension text NOT NULL CONSTRAINT usage_breakdowns_dimension_check CHECK (dimension IN ('key', 'user')),
    value text COLLATE "C" NOT NULL,
    day date NOT NULL,
    accepted bigint NOT NULL,
    transcribed bigint NOT NULL,
    failed bigint NOT NULL,
    duration_ms bigint NOT NULL,
    bytes bigint NOT NULL,
    CONSTRAINT usage_breakdowns_pkey PRIMARY KEY (account_id, dimension, value, day)
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05)`;

const COUNTS = 'ADD COLUMN transcribed bigint NOT NULL DEFAULT 0, ADD COLUMN failed bigint NOT NULL DEFAULT 0';

const UP = [
  LOCK_TIMEOUT,
  USAGE_BREAKDOWNS,
  // Not a foreign key: usage stays when the key is gone.
  'ALTER TABLE recordings ADD COLUMN key_id uuid',
  `ALTER TABLE usage_counters ${COUNTS}`,
  `ALTER TABLE usage_counter_deltas ${COUNTS}, ADD COLUMN key_id uuid, ADD COLUMN user_id text`,
  // How deleted recordings ended is not known.
  ...['usage_counters', 'usage_counter_deltas'].flatMap((table) =>
    ['transcribed', 'failed'].map((status) => `UPDATE ${table} SET ${status} = listed WHERE status = '${status}'`),
  ),
];

const DOWN = [
  LOCK_TIMEOUT,
  'ALTER TABLE usage_counter_deltas DROP COLUMN user_id, DROP COLUMN key_id, DROP COLUMN failed, DROP COLUMN transcribed',
  'ALTER TABLE usage_counters DROP COLUMN failed, DROP COLUMN transcribed',
  'ALTER TABLE recordings DROP COLUMN key_id',
  'DROP TABLE usage_breakdowns',
];

/** Usage by API key and by end user, and how recordings ended. */
export class UsageBreakdowns1765152000000 implements MigrationInterface {
  name = 'UsageBreakdowns1765152000000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
