import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { DatabaseService, type Tx } from '../../database/database.service.js';
import { ReconcilerService } from '../../queue/reconciler.service.js';
import { ObjectRemoval } from './object-removal.entity.js';
import { lockDueRemoval, selectDueRemovals } from './object-removals.queries.js';
import { ObjectReservationBatch } from './object-reservation-batch.js';
import { ObjectStore } from '../object-store.js';

/** Objects that one round of the reconciler removes. */
const BATCH = 200;

const NOW = { removeAfter: () => 'now()' };

/**
 * The list of objects to remove. An upload puts its object's key on the list before it writes the object, and takes it
 * off in the transaction that inserts the recording. So no crash leaves an orphan, and the store is never listed.
 */
@Injectable()
export class ObjectRemovalsService implements OnModuleInit {
  private readonly reservations: ObjectReservationBatch;
  private readonly logger = new Logger(ObjectRemovalsService.name);

  constructor(
    private readonly database: DatabaseService,
    @InjectRepository(ObjectRemoval) private readonly removals: Repository<ObjectRemoval>,
    private readonly store: ObjectStore,
    private readonly reconciler: ReconcilerService,
  ) {
    this.reservations = new ObjectReservationBatch(database);
  }

  onModuleInit(): void {
    this.reconciler.register('remove objects', () => this.removeDue());
  }

  /** Resolves once it is committed; the object must not be written before. */
  async reserve(key: string): Promise<void> {
    await this.reservations.reserve(key);
  }

  /** Removes the object of a row that this transaction deletes: after the commit, or when the store is available. */
  async discard(tx: Tx, key: string): Promise<void> {
    await tx.manager.insert(ObjectRemoval, { objectKey: key, ...NOW });
    tx.afterCommit(() => void this.remove(key).catch(() => undefined));
  }

  /** Removes a reserved object that will not be kept. */
  async cancel(key: string): Promise<void> {
    try {
      await this.removals.update({ objectKey: key }, NOW);
      await this.remove(key);
    } catch (error) {
      this.logger.warn({ err: error, key }, 'object removal postponed');
    }
  }

  private async removeDue(): Promise<void> {
    for (const { objectKey } of await selectDueRemovals(this.database, BATCH)) await this.remove(objectKey);
  }

  /** The row stays locked while the object is removed, so that no upload can claim it meanwhile. */
  private async remove(key: string): Promise<void> {
    await this.database.transact(async (tx) => {
      if (!(await lockDueRemoval(tx, key))) return;
      await this.store.remove(key);
      await tx.manager.delete(ObjectRemoval, { objectKey: key });
    });
  }
}
