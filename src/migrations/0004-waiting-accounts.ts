import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog, changeInBatches, createIndexConcurrently } from '../platform/database/migration-steps.js';

/** What waits or is leased, as in `recording-claims.queries.ts`; not what an operator has transcribed again. */
const isRequested = (row: string): string => `(${row}.status = 'processing' OR ${row}.rerun = 'requested')`;

const COLUMN = 'ALTER TABLE transcription_shares ADD COLUMN IF NOT EXISTS is_waiting boolean NOT NULL DEFAULT false';

/**
 * The row is locked until the commit, so that nobody unmarks the account before the recording can be seen. The lock is
 * shared, and a claim does not wait for it. Another upload waits only for the one that marks the account.
 */
const FUNCTION = `
  CREATE OR REPLACE FUNCTION mark_account_waiting() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM FROM transcription_shares WHERE account_id = NEW.account_id AND is_waiting FOR KEY SHARE;
    IF NOT FOUND THEN
      INSERT INTO transcription_shares (account_id, virtual_start, virtual_end, is_waiting)
      VALUES (NEW.account_id, 0, 0, true)
      ON CONFLICT ON CONSTRAINT transcription_shares_pkey DO UPDATE SET is_waiting = true;
    END IF;
    RETURN NULL;
  END $$`;

/** Triggers, because processes of the release before this one insert recordings, too. Claims and renewals fire none. */
const TRIGGERS = [
  `CREATE OR REPLACE TRIGGER recordings_inserted_waiting AFTER INSERT ON recordings
     FOR EACH ROW WHEN (${isRequested('NEW')}) EXECUTE FUNCTION mark_account_waiting()`,
  `CREATE OR REPLACE TRIGGER recordings_updated_waiting AFTER UPDATE OF status, rerun ON recordings
     FOR EACH ROW WHEN (${isRequested('NEW')} AND ${isRequested('OLD')} IS NOT TRUE)
     EXECUTE FUNCTION mark_account_waiting()`,
];

const INDEX = 'transcription_shares_waiting_idx';

/** The next accounts that have such recordings, one probe of each of the two indexes for each account. */
const nextAccount = (condition: string): string => `
  (SELECT r.account_id FROM recordings r WHERE r.account_id > n.id AND ${isRequested('r')} AND ${condition}
   ORDER BY r.account_id LIMIT 1)`;
const NEXT = `least(${nextAccount('r.lease_until IS NULL')}, ${nextAccount('r.lease_until IS NOT NULL')})`;
const BACKFILL = `
  WITH RECURSIVE n AS (
    SELECT $1::uuid AS id, 0 AS number
    UNION ALL SELECT ${NEXT}, number + 1 FROM n WHERE id IS NOT NULL AND number < 1000),
  marked AS (
    INSERT INTO transcription_shares (account_id, virtual_start, virtual_end, is_waiting)
    SELECT id, 0, 0, true FROM n WHERE number > 0 AND id IS NOT NULL ORDER BY id
    ON CONFLICT ON CONSTRAINT transcription_shares_pkey DO UPDATE SET is_waiting = true
    RETURNING account_id)
  SELECT account_id AS last FROM marked ORDER BY account_id DESC LIMIT 1`;

/** Marks the accounts that have recordings in the queue, so that a claim finds the next of many in an index (D33). */
export class WaitingAccounts1795521700000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'transcription_shares', [COLUMN, FUNCTION]);
    await createIndexConcurrently(runner, INDEX, 'transcription_shares (virtual_end) WHERE is_waiting');
    // Waits for what was inserted without the triggers, so that the backfill sees it.
    await changeCatalog(runner, 'recordings', TRIGGERS);
    await changeInBatches(runner, BACKFILL, '00000000-0000-0000-0000-000000000000');
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'recordings', [
      'DROP TRIGGER recordings_inserted_waiting ON recordings',
      'DROP TRIGGER recordings_updated_waiting ON recordings',
      'DROP FUNCTION mark_account_waiting',
      `DROP INDEX ${INDEX}`,
      'ALTER TABLE transcription_shares DROP COLUMN is_waiting',
    ]);
  }
}
