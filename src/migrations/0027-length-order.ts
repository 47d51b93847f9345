import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog, createIndexConcurrently } from '../platform/database/migration-steps.js';

/** For the lists by length (D106), which merge those of each status. */
export class LengthOrder1795602100000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    const listed = 'recordings (account_id, status, duration_ms DESC, created_at DESC, id DESC)';
    await createIndexConcurrently(runner, 'recordings_account_length_idx', listed);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'recordings', ['DROP INDEX recordings_account_length_idx']);
  }
}
