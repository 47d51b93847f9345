import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog } from '../platform/database/migration-steps.js';

/** Who speaks: how many speakers a recording was said to have, the default of its account, and their names (D86). */
export class Speakers1795600500000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'accounts', ['ALTER TABLE accounts ADD COLUMN IF NOT EXISTS speakers smallint']);
    await changeCatalog(runner, 'recordings', [
      `ALTER TABLE recordings ADD COLUMN IF NOT EXISTS speakers smallint,
         ADD COLUMN IF NOT EXISTS speaker_names jsonb`,
    ]);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'recordings', [
      'ALTER TABLE recordings DROP COLUMN speakers, DROP COLUMN speaker_names',
    ]);
    await changeCatalog(runner, 'accounts', ['ALTER TABLE accounts DROP COLUMN speakers']);
  }
}
