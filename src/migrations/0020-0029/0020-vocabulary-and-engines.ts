import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Every step changes the catalog only; a busy table is waited for briefly, so that requests do not queue behind it. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

const UP = [
  LOCK_TIMEOUT,
  'ALTER TABLE recordings ADD COLUMN vocabulary text[]',
  `ALTER TABLE accounts ADD COLUMN vocabulary text[] NOT NULL DEFAULT '{}', ADD COLUMN engines jsonb`,
  // Few accounts have engines of their own. A claim looks for these while the engines of all others are unavailable.
  'CREATE INDEX accounts_engines_idx ON accounts (id) WHERE engines IS NOT NULL',
];

const DOWN = [
  LOCK_TIMEOUT,
  'ALTER TABLE accounts DROP COLUMN engines, DROP COLUMN vocabulary',
  'ALTER TABLE recordings DROP COLUMN vocabulary',
];

/** Terms that recordings and accounts name, and the engines of an account. */
export class VocabularyAndEngines1765324800000 implements MigrationInterface {
  name = 'VocabularyAndEngines1765324800000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
