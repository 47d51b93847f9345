import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { DatabaseService, type Tx } from '../../database/database.service.js';
import { ReconcilerService } from '../../reconciler/reconciler.service.js';
import { ObjectRemoval } from './object-removal.entity.js';
import { beginDueRemovals, beginRemoval } from './object-removals.queries.js';
import { ObjectStore } from '../object-store.js';

/** Objects that the reconciler removes at once. */
const BATCH = 20;
/** A round of the reconciler begins no further batch after this time. */
const ROUND_MS = 5000;
const NOW = { removeAfter: () => 'now()' };
const UNCOUNTED = { accountId: null, bytes: null, durationMs: null };

/**
 * The list of objects to remove. An upload puts its object's key on the list before it writes the object, and takes it
 * off in the transaction that inserts the recording. So no crash leaves an orphan, and the store is never listed.
 */
@Injectable()
export class ObjectRemovalsService implements OnModuleInit {
  private readonly logger = new Logger(ObjectRemovalsService.name);

  constructor(
    private readonly database: DatabaseService,
    @InjectRepository(ObjectRemoval) private readonly removals: Repository<ObjectRemoval>,
    private readonly store: ObjectStore,
    private readonly reconciler: ReconcilerService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('remove objects', () => this.removeDue());
  }

  /** Removes the object of a row that this transaction deletes: after the commit, or when the store is available. */
  async discard(tx: Tx, key: string): Promise<void> {
    await tx.manager.insert(ObjectRemoval, { objectKey: key, ...NOW });
    tx.afterCommit(() => void this.remove(key).catch(() => undefined));
  }

  /**
   * Removes a reserved object that will not be kept, and counts it no more.
   * @param mayArriveLate the store may still be writing it: it is removed again when its reservation expires.
   */
  async cancel(key: string, { mayArriveLate = false } = {}): Promise<void> {
    try {
      await this.removals.update({ objectKey: key }, { ...UNCOUNTED, ...(mayArriveLate ? {} : NOW) });
      if (mayArriveLate) return await this.store.remove(key);
      await this.remove(key);
    } catch (error) {
      this.logger.warn({ err: error, key }, 'object removal postponed');
    }
  }

  /** An object that cannot be removed waits for its next attempt, and keeps no other object waiting. */
  private async removeDue(): Promise<void> {
    const deadline = Date.now() + ROUND_MS;
    let keys: string[];
    do {
      keys = await beginDueRemovals(this.database, BATCH);
      const outcomes = await Promise.allSettled(keys.map((key) => this.removeBegun(key)));
      const failed = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
      if (failed.length > 0) this.logger.warn({ err: failed[0], objects: failed.length }, 'object removal postponed');
    } while (keys.length === BATCH && Date.now() < deadline);
  }

  private async remove(key: string): Promise<void> {
    if (await beginRemoval(this.database, key)) await this.removeBegun(key);
  }

  /** Holds no connection while it waits for the store. From the begin on no upload can claim the object. */
  private async removeBegun(key: string): Promise<void> {
    await this.store.remove(key);
    await this.removals.delete({ objectKey: key });
  }
}
