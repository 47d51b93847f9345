import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog } from '../platform/database/migration-steps.js';

/** What an upload says about the languages of its audio (D69), and of its text (D71). */
export class Languages1795600000000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'recordings', [
      'ALTER TABLE recordings ADD COLUMN IF NOT EXISTS languages text[]',
      'ALTER TABLE recordings ADD COLUMN IF NOT EXISTS translate boolean NOT NULL DEFAULT false',
    ]);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'recordings', [
      'ALTER TABLE recordings DROP COLUMN translate',
      'ALTER TABLE recordings DROP COLUMN languages',
    ]);
  }
}
