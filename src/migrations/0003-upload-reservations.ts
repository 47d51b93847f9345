import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog, createIndexConcurrently } from '../platform/database/migration-steps.js';

/** Uploads under way count in the quotas of their account. Those of processes of the earlier release do not. */
export class UploadReservations1795521600000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'object_removals', [
      `ALTER TABLE object_removals ADD COLUMN IF NOT EXISTS account_id uuid,
         ADD COLUMN IF NOT EXISTS bytes bigint, ADD COLUMN IF NOT EXISTS duration_ms bigint`,
    ]);
    const indexed = 'object_removals (account_id) WHERE account_id IS NOT NULL';
    await createIndexConcurrently(runner, 'object_removals_account_idx', indexed);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'object_removals', [
      'ALTER TABLE object_removals DROP COLUMN account_id, DROP COLUMN bytes, DROP COLUMN duration_ms',
    ]);
  }
}
