import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { DatabaseService, type Tx } from '../database/database.service.js';
import { coalesce } from '../queue/coalesce.js';
import { ReconcilerService } from '../queue/reconciler.service.js';
import { ObjectStore } from './object-store.js';

/** Longer than any store takes to take over an upload. After it, an object that nothing refers to is removed. */
const RESERVATION_SECONDS = 3600;
/**
 * The statement that makes a reserved object somebody's, for the one that writes the row it belongs to. It gives no row
 * when that came so late that the object is lost.
 * @param key a parameter of the statement, such as `$1`
 */
export const claimReservedObject = (key: string): string =>
  `DELETE FROM object_removals WHERE object_key = ${key} RETURNING object_key`;

/** Objects that one round removes. */
const BATCH = 200;

/**
 * The list of objects to remove, `object_removals`. An object's key is on it before the object is written, and goes off
 * it in the transaction that makes it somebody's: so a crash at any moment leaves no orphan, and no store is ever listed.
 */
@Injectable()
export class ObjectRemovalsService implements OnModuleInit {
  /** To be committed before the object is written. */
  readonly reserve = coalesce<string, void>((keys) => this.reserveAll(keys));
  private readonly logger = new Logger(ObjectRemovalsService.name);

  constructor(
    private readonly database: DatabaseService,
    private readonly store: ObjectStore,
    private readonly reconciler: ReconcilerService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('remove objects', () => this.removeDue());
  }

  /** The row it belonged to goes with this transaction: the object follows at once, or when the store is back. */
  async discard(tx: Tx, key: string): Promise<void> {
    await tx.query('INSERT INTO object_removals (object_key, remove_after) VALUES ($1, now())', [key]);
    tx.afterCommit(() => void this.remove(key).catch(() => undefined));
  }

  /** A reserved object that will not be kept after all. */
  async giveUp(key: string): Promise<void> {
    try {
      await this.database.query('UPDATE object_removals SET remove_after = now() WHERE object_key = $1', [key]);
      await this.remove(key);
    } catch (error) {
      this.logger.warn({ err: error, key }, 'an object will be removed later');
    }
  }

  private async reserveAll(keys: readonly string[]): Promise<void[]> {
    await this.database.prepared(
      `INSERT INTO object_removals (object_key, remove_after)
       SELECT key, now() + make_interval(secs => $2) FROM unnest($1::text[]) AS key`,
      [keys, RESERVATION_SECONDS],
    );
    return keys.map(() => undefined);
  }

  private async removeDue(): Promise<void> {
    const due = await this.database.query<{ object_key: string }>(
      'SELECT object_key FROM object_removals WHERE remove_after <= now() ORDER BY remove_after LIMIT $1',
      [BATCH],
    );
    for (const { object_key: key } of due) await this.remove(key);
  }

  /** The line is held while the object goes, so that nobody can keep it in the same moment. */
  private async remove(key: string): Promise<void> {
    await this.database.transact(async (tx) => {
      const [line] = await tx.query(
        'SELECT 1 FROM object_removals WHERE object_key = $1 AND remove_after <= now() FOR UPDATE SKIP LOCKED',
        [key],
      );
      if (!line) return;
      await this.store.remove(key);
      await tx.query('DELETE FROM object_removals WHERE object_key = $1', [key]);
    });
  }
}
