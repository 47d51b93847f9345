import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog, createIndexConcurrently } from '../platform/database/migration-steps.js';

/** As the indexes of before, only of entries with a number, so that a change pays for none of them. */
const INDEXES = {
  audit_entries_actor_idx: '(account_id, actor_kind, number) WHERE number IS NOT NULL',
  audit_entries_key_idx: '(account_id, key_id, number) WHERE number IS NOT NULL AND key_id IS NOT NULL',
  audit_entries_person_idx: '(account_id, person_id, number) WHERE number IS NOT NULL AND person_id IS NOT NULL',
  audit_entries_day_idx: '(account_id, at, number) WHERE number IS NOT NULL',
};

/** For the filters of the audit log by actor and by day, which read the log of an account from its end. */
export class AuditFilters1795602500000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    for (const [name, columns] of Object.entries(INDEXES))
      await createIndexConcurrently(runner, name, `audit_entries ${columns}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    const drops = Object.keys(INDEXES).map((name) => `DROP INDEX ${name}`);
    await changeCatalog(runner, 'audit_entries', drops);
  }
}
