import { readQuotaUsage } from '../../src/modules/recordings/quotas.service.js';
import { findRecordings } from '../../src/modules/recordings/recordings.queries.js';
import { DatabaseService, type Tx } from '../../src/platform/database/database.service.js';
import { useService } from '../../src/testing/test-service.js';

/** Postgres makes a new plan for the first five calls of a statement, and then keeps one if it seems no dearer. */
const NEW_PLANS = 5;
const CALLS = 12;

const READS: [string, (tx: Tx, id: string) => Promise<unknown>][] = [
  ['recordings', (tx, id) => findRecordings(tx, [{ accountId: id, id }])],
  ['the usage of accounts', (tx, id) => readQuotaUsage(tx, [id], '2026-11-01')],
];

describe('statements that look up many keys', () => {
  const service = useService({ ROLES: 'api' });

  it.each(READS)('keep their plan also when there is one key: %s', async (_, read) => {
    const { accountId } = await service.account();
    const plans = await service.app.get(DatabaseService).transact(async (tx) => {
      for (let i = 0; i < CALLS; i++) await read(tx, accountId);
      return await tx.query(
        `SELECT custom_plans::int AS made, generic_plans::int AS kept FROM pg_prepared_statements
         ORDER BY prepare_time DESC LIMIT 1`,
      );
    });
    expect(plans).toEqual([{ made: NEW_PLANS, kept: CALLS - NEW_PLANS }]);
  });
});
