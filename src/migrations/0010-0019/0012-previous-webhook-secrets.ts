import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A busy table is waited for briefly, so that requests do not queue behind the migration. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

const UP = [
  LOCK_TIMEOUT,
  `ALTER TABLE webhooks
     ADD COLUMN previous_encrypted_secret text,
     ADD COLUMN previous_secret_until timestamptz,
     ADD CONSTRAINT webhooks_previous_secret_check
       CHECK ((previous_encrypted_secret IS NULL) = (previous_secret_until IS NULL))`,
];

const DOWN = [
  LOCK_TIMEOUT,
  'ALTER TABLE webhooks DROP COLUMN previous_encrypted_secret, DROP COLUMN previous_secret_until',
];

/** The secret that a webhook had before, which signs beside the present one for some hours. */
export class PreviousWebhookSecrets1764633600000 implements MigrationInterface {
  name = 'PreviousWebhookSecrets1764633600000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
