import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Triggers, so that a change by hand counts too (docs/decisions/0007). */
const STATEMENTS = [
  'ALTER TABLE accounts ADD COLUMN epoch integer NOT NULL DEFAULT 1',
  `CREATE FUNCTION accounts_move_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     NEW.epoch := OLD.epoch + 1;
     RETURN NEW;
   END $$`,
  `CREATE TRIGGER accounts_move_epoch BEFORE UPDATE OF status, plan, rate_limit, burst_limit ON accounts
     FOR EACH ROW EXECUTE FUNCTION accounts_move_epoch()`,
  `CREATE FUNCTION api_keys_move_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     UPDATE accounts SET epoch = epoch + 1 WHERE id = OLD.account_id;
     RETURN NULL;
   END $$`,
  `CREATE TRIGGER api_keys_move_epoch AFTER DELETE OR UPDATE OF secret_hash, scopes, expires_at, revoked_at ON api_keys
     FOR EACH ROW EXECUTE FUNCTION api_keys_move_epoch()`,
];

export class AccountEpoch1763769600000 implements MigrationInterface {
  name = 'AccountEpoch1763769600000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of STATEMENTS) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TRIGGER api_keys_move_epoch ON api_keys');
    await runner.query('DROP FUNCTION api_keys_move_epoch');
    await runner.query('DROP TRIGGER accounts_move_epoch ON accounts');
    await runner.query('DROP FUNCTION accounts_move_epoch');
    await runner.query('ALTER TABLE accounts DROP COLUMN epoch');
  }
}
