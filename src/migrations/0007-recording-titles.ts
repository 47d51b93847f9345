import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog, changeInBatches } from '../platform/database/migration-steps.js';

/** The table has one row. */
const BEGIN_AGAIN = `
  WITH next AS (SELECT id FROM search_backfill WHERE id > $1 AND EXISTS (SELECT FROM recordings) LIMIT 1),
  begun AS (
    UPDATE search_backfill b SET before_id = NULL, passes_left = 2, next_at = now() FROM next WHERE b.id = next.id
    RETURNING b.id)
  SELECT id AS last FROM begun`;

/**
 * Titles of recordings (D75). The reconciler adds the words of tags to what is searched of recordings that have a text
 * already (D76): twice, a day apart, because processes of the release before index without them meanwhile.
 */
export class RecordingTitles1795600200000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'recordings', ['ALTER TABLE recordings ADD COLUMN IF NOT EXISTS title text']);
    await changeInBatches(runner, BEGIN_AGAIN, 0);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'recordings', ['ALTER TABLE recordings DROP COLUMN title']);
  }
}
