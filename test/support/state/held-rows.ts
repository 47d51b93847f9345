import type { DatabaseService } from '../../../src/platform/database/database.service.js';
import { eventually } from '../../../src/testing/eventually.js';

/**
 * Whether `change`, which locks both rows of a table, waits for the first one before it takes the second: two changes
 * that lock in one order cannot deadlock.
 */
export async function locksInOrder(
  database: DatabaseService,
  table: 'api_keys' | 'recordings',
  [first, second]: readonly [string, string],
  change: () => Promise<unknown>,
): Promise<boolean> {
  let changing: Promise<unknown> | undefined;
  const isFree = await database.transact(async (tx) => {
    await tx.query(`SELECT FROM ${table} WHERE id = $1 FOR UPDATE`, [first]);
    changing = change();
    await eventually(async () => {
      const waiting = await database.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        [],
      );
      return waiting.length > 0;
    });
    const free = await tx.query(`SELECT FROM ${table} WHERE id = $1 FOR UPDATE SKIP LOCKED`, [second]);
    return free.length === 1;
  });
  await changing;
  return isFree;
}
