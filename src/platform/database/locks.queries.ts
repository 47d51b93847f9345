import type { Tx } from './database.service.js';

/** Held until the transaction ends. SQL, because TypeORM has no advisory locks. */
export async function lockByName(tx: Tx, name: string): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}
