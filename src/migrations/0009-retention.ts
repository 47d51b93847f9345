import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog, createIndexConcurrently } from '../platform/database/migration-steps.js';

/** When something of a recording goes next, as in `retention.queries.ts`. */
const DUE = `(CASE WHEN audio_deleted_at IS NOT NULL THEN text_due_at
  WHEN delete_audio_after = 'transcribed' AND status = 'transcribed' THEN processed_at
  ELSE coalesce(audio_due_at, text_due_at) END)`;

/** Of most recordings nothing goes, and they are in none of the two indexes of times. */
export class Retention1795600300000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'accounts', [
      `ALTER TABLE accounts ADD COLUMN IF NOT EXISTS retain_audio_days integer,
         ADD COLUMN IF NOT EXISTS retain_text_days integer, ADD COLUMN IF NOT EXISTS delete_audio_after text`,
    ]);
    await changeCatalog(runner, 'recordings', [
      `ALTER TABLE recordings ADD COLUMN IF NOT EXISTS audio_due_at timestamptz,
         ADD COLUMN IF NOT EXISTS text_due_at timestamptz, ADD COLUMN IF NOT EXISTS delete_audio_after text,
         ADD COLUMN IF NOT EXISTS audio_deleted_at timestamptz, ADD COLUMN IF NOT EXISTS held_at timestamptz,
         ADD COLUMN IF NOT EXISTS hold_reason text`,
    ]);
    const swept = `recordings (${DUE})
      WHERE ${DUE} IS NOT NULL AND status <> 'processing' AND rerun IS NULL AND held_at IS NULL`;
    await createIndexConcurrently(runner, 'recordings_due_idx', swept);
    const listed = `recordings (account_id, ${DUE}, id) WHERE ${DUE} IS NOT NULL`;
    await createIndexConcurrently(runner, 'recordings_account_due_idx', listed);
    const ofRecording = 'events (recording_id) WHERE recording_id IS NOT NULL';
    await createIndexConcurrently(runner, 'events_recording_idx', ofRecording);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'events', ['DROP INDEX events_recording_idx']);
    await changeCatalog(runner, 'recordings', [
      `ALTER TABLE recordings DROP COLUMN audio_due_at, DROP COLUMN text_due_at, DROP COLUMN delete_audio_after,
         DROP COLUMN audio_deleted_at, DROP COLUMN held_at, DROP COLUMN hold_reason`,
    ]);
    await changeCatalog(runner, 'accounts', [
      `ALTER TABLE accounts DROP COLUMN retain_audio_days, DROP COLUMN retain_text_days,
         DROP COLUMN delete_audio_after`,
    ]);
  }
}
