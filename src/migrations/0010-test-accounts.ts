import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog, createIndexConcurrently } from '../platform/database/migration-steps.js';

const FOREIGN_KEY = 'accounts_test_of_fkey';

/**
 * Processes of the API may create no account but this one. The row is locked until the commit, so that an operator's
 * change of the account is in the copy, or finds it.
 */
const FUNCTION = `
  CREATE OR REPLACE FUNCTION create_test_account(live uuid, test uuid) RETURNS void
  LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    INSERT INTO accounts (id, name, email, status, plan, rate_limit, burst_limit, engines, finish_queue, test_of,
      created_at, updated_at)
    SELECT test, name, email, status, plan, rate_limit, burst_limit, engines, finish_queue, id, now(), now()
    FROM accounts WHERE id = live AND test_of IS NULL FOR SHARE
    ON CONFLICT (test_of) WHERE test_of IS NOT NULL DO NOTHING
  $$`;

/** The test account of an account, in which its test keys work (D80). Few accounts have one. */
export class TestAccounts1795600400000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'accounts', [
      'ALTER TABLE accounts ADD COLUMN IF NOT EXISTS test_of uuid',
      `ALTER TABLE accounts DROP CONSTRAINT IF EXISTS ${FOREIGN_KEY}`,
      `ALTER TABLE accounts ADD CONSTRAINT ${FOREIGN_KEY} FOREIGN KEY (test_of) REFERENCES accounts NOT VALID`,
    ]);
    await runner.query(`ALTER TABLE accounts VALIDATE CONSTRAINT ${FOREIGN_KEY}`);
    const indexed = 'accounts (test_of) WHERE test_of IS NOT NULL';
    await createIndexConcurrently(runner, 'accounts_test_of_idx', indexed, { isUnique: true });
    await runner.query(FUNCTION);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION create_test_account');
    await changeCatalog(runner, 'accounts', ['ALTER TABLE accounts DROP COLUMN test_of']);
  }
}
