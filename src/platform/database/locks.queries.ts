import type { Tx } from './database.service.js';

/** Held until the transaction ends. */
export async function lockByName(tx: Tx, name: string): Promise<void> {
  await lockByNames(tx, [name]);
}

/**
 * All of them, held until the transaction ends. They are taken in one order, so that no two transactions wait for each
 * other. SQL, because TypeORM has no advisory locks.
 */
export async function lockByNames(tx: Tx, names: readonly string[]): Promise<void> {
  await tx.prepared(
    `SELECT pg_advisory_xact_lock(key)
     FROM (SELECT DISTINCT hashtextextended(name, 0) AS key FROM unnest($1::text[]) AS name ORDER BY 1) AS keys`,
    [names],
  );
}
