import type { QueryRunner } from 'typeorm';
import { retry } from '../concurrency/retry.js';

class TableLocked extends Error {
  override readonly name = 'TableLocked';

  constructor() {
    super(
      'Another session, such as pg_dump, still holds a table that has to change; pg_stat_activity shows it. ' +
        'The migrations before it are done. Run the command again when that session has ended.',
    );
  }
}

/** SQLSTATE 55P03 lock_not_available, 40P01 deadlock_detected. Postgres has undone the whole transaction. */
const BUSY = /^(55P03|40P01)$/;
/** Between two attempts, so that the requests behind the first get their turn. */
const RETRY_MS = 1000;
/** Longer than most dumps hold a table. */
const WAIT_MS = 600_000;

export interface LockWait {
  /** How long to try again while other sessions hold what has to change. */
  lockWaitMs?: number;
  /** Called before the second attempt, with a sentence for an operator. */
  onWait?: (message: string) => void;
}

/** Runs `work` until no lock is in its way. @throws TableLocked when the time is over. */
export async function retryWhileLocked<T>(
  work: () => Promise<T>,
  { lockWaitMs = WAIT_MS, onWait }: LockWait = {},
): Promise<T> {
  const deadline = Date.now() + lockWaitMs;
  return await retry(work, (error, attempt) => {
    if (!BUSY.test(String((error as { code?: unknown }).code))) return null;
    if (Date.now() > deadline) throw new TableLocked();
    if (attempt === 1) onWait?.('Another session holds a table that has to change. Trying again every second.');
    return RETRY_MS;
  });
}

/**
 * For a migration with `transaction = false`: builds an index while the table is written. An index that an interrupted
 * attempt left invalid is built again.
 * @param definition what follows ON, such as `recordings (account_id) WHERE rerun IS NOT NULL`.
 */
export async function createIndexConcurrently(
  runner: QueryRunner,
  name: string,
  definition: string,
  { isUnique = false } = {},
): Promise<void> {
  const [found] = (await runner.query(
    'SELECT indisvalid AS "isValid" FROM pg_index WHERE indexrelid = to_regclass($1)',
    [name],
  )) as { isValid: boolean }[];
  if (found?.isValid) return;
  if (found) await runner.query(`DROP INDEX CONCURRENTLY ${name}`);
  await runner.query(`CREATE ${isUnique ? 'UNIQUE ' : ''}INDEX CONCURRENTLY ${name} ON ${definition}`);
}

/** Longer than Postgres takes to end an autovacuum that is in the way of somebody (`deadlock_timeout`). */
const VACUUM_MS = 5000;

/**
 * For a migration with `transaction = false`: what locks a table for a moment, such as a new column. In one transaction,
 * which begins again when a lock is in its way. Of one table, because the first lock is kept during the wait for another.
 *
 * An autovacuum of a large table lasts for hours and lets nobody change it. Postgres ends it for a session that waits
 * longer than the limit of a transaction. So a lock is taken first that keeps out vacuums, and no request: none waits
 * behind it.
 */
export async function changeCatalog(runner: QueryRunner, table: string, statements: string[]): Promise<void> {
  await inTransaction(runner, async () => {
    const [limit] = (await runner.query(`SELECT current_setting('lock_timeout') AS value`)) as { value: string }[];
    await runner.query(`SELECT set_config('lock_timeout', $1, true)`, [`${VACUUM_MS}ms`]);
    await runner.query(`LOCK TABLE ${table} IN SHARE UPDATE EXCLUSIVE MODE`);
    await runner.query(`SELECT set_config('lock_timeout', $1, true)`, [limit?.value]);
    for (const statement of statements) await runner.query(statement);
  });
}

/**
 * For a migration with `transaction = false`: changes many rows in batches, each in a transaction of its own, so that no
 * request waits long for a row. An interrupted migration begins at the first batch again.
 * @param statement a `WITH … SELECT` that changes the next rows after the key $1, 1,000 at most, and returns the last of
 *   their keys as `last`; no row when there are none.
 * @param first a key before all others.
 */
export async function changeInBatches(runner: QueryRunner, statement: string, first: unknown): Promise<void> {
  for (let last: unknown = first; last !== null;) {
    const after = last;
    last = await inTransaction(runner, async () => {
      const [row] = (await runner.query(statement, [after])) as { last: unknown }[];
      return row?.last ?? null;
    });
  }
}

/** A transaction has a limit for the wait for each lock (`migrationDataSource`). */
function inTransaction<T>(runner: QueryRunner, work: () => Promise<T>): Promise<T> {
  return retryWhileLocked(async () => {
    await runner.startTransaction();
    try {
      const result = await work();
      await runner.commitTransaction();
      return result;
    } catch (error) {
      await runner.rollbackTransaction();
      throw error;
    }
  });
}

/**
 * For a migration that removes what earlier releases use: processes that do not know the migration `name`, since which
 * nothing uses it any more, refuse to start from now on.
 */
export async function requireMigration(runner: QueryRunner, name: string): Promise<void> {
  await runner.query('INSERT INTO required_migrations (name) VALUES ($1) ON CONFLICT DO NOTHING', [name]);
}
