import type { FindOptionsWhere } from 'typeorm';
import { LimitExceededError } from '../errors/errors.js';
import type { DatabaseService } from './database.service.js';
import { lockByName } from './locks.queries.js';

export interface Limit<Entity> {
  /** Rows that an account may hold. */
  maximum: number;
  /** For the message, such as `webhooks`. */
  what: string;
  /** The rows that count. */
  counted: FindOptionsWhere<Entity> | FindOptionsWhere<Entity>[];
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
  { maximum, what, counted }: Limit<Entity>,
): Promise<void> {
  await database.transact(async (tx) => {
    const { tableName } = tx.manager.getRepository(entity).metadata;
    await lockByName(tx, `${tableName}:${row.accountId}`);
    if ((await tx.manager.countBy(entity, counted)) >= maximum) throw new LimitExceededError(what, maximum);
    await tx.manager
      .getRepository(entity)
      .insert(row as Parameters<ReturnType<typeof tx.manager.getRepository<Entity>>['insert']>[0]);
  });
}
