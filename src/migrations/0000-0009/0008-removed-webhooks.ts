import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A busy table is waited for briefly, so that requests do not queue behind this. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

/** The cascade deleted all deliveries of a webhook in one statement, which failed for hundreds of thousands. */
const UP = [
  LOCK_TIMEOUT,
  `CREATE TABLE removed_webhooks (webhook_id uuid CONSTRAINT removed_webhooks_pkey PRIMARY KEY)`,
  'ALTER TABLE deliveries DROP CONSTRAINT deliveries_webhook_fkey',
];

const DOWN = [
  LOCK_TIMEOUT,
  'DELETE FROM deliveries d WHERE NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.id = d.webhook_id)',
  `ALTER TABLE deliveries ADD CONSTRAINT deliveries_webhook_fkey
     FOREIGN KEY (webhook_id) REFERENCES webhooks ON DELETE CASCADE`,
  'DROP TABLE removed_webhooks',
];

/** Lets a webhook be deleted at once, and its deliveries in batches. */
export class RemovedWebhooks1764288000000 implements MigrationInterface {
  name = 'RemovedWebhooks1764288000000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
