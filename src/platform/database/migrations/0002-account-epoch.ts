import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Moves with every change of what an account's credentials are worth: see `Epochs`. */
export class AccountEpoch1763769600000 implements MigrationInterface {
  name = 'AccountEpoch1763769600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE accounts ADD COLUMN epoch integer NOT NULL DEFAULT 1');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE accounts DROP COLUMN epoch');
  }
}
