import type { FindOptionsWhere } from 'typeorm';
import { LimitExceededError } from '../errors/errors.js';
import type { DatabaseService, Tx } from './database.service.js';

export interface Limit<Entity> {
  /** Rows that an account may hold. */
  maximum: number;
  /** For the message, such as `webhooks`. */
  what: string;
  /** The rows that count. */
  counted: FindOptionsWhere<Entity> | FindOptionsWhere<Entity>[];
  /** Runs under the lock, right before the insert; may still change the row. */
  prepare?: (tx: Tx) => Promise<void>;
}

/**
 * Inserts a row of an account, unless the account holds as many as it may. Inserts of one account wait for each other,
 * so the limit is exact under concurrent requests.
 * @throws LimitExceededError
 */
export async function insertWithinLimit<Entity extends { accountId: string }>(
  database: DatabaseService,
  entity: new () => Entity,
  row: Entity,
  { maximum, what, counted, prepare }: Limit<Entity>,
): Promise<void> {
  await database.transact(async (tx) => {
    await lockInserts(tx, entity, row.accountId);
    if ((await tx.manager.countBy(entity, counted)) >= maximum) throw new LimitExceededError(what, maximum);
    await prepare?.(tx);
    await tx.manager
      .getRepository(entity)
      .insert(row as Parameters<ReturnType<typeof tx.manager.getRepository<Entity>>['insert']>[0]);
  });
}

/** Until the transaction ends, `insertWithinLimit` inserts no row of these accounts. */
export async function lockInserts(tx: Tx, entity: new () => object, ...accountIds: string[]): Promise<void> {
  const { tableName } = tx.manager.getRepository(entity).metadata;
  await lockByNames(
    tx,
    accountIds.map((accountId) => `${tableName}:${accountId}`),
  );
}

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
