import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog } from '../platform/database/migration-steps.js';

/** Sessions know who has made the link with which they began: they end with the right to make it (D99). */
export class MakersOfLinks1795601450000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'sessions', ['ALTER TABLE sessions ADD COLUMN IF NOT EXISTS link_made_by uuid']);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'sessions', ['ALTER TABLE sessions DROP COLUMN link_made_by']);
  }
}
