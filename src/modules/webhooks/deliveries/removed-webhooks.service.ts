import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { repeatWhileFull } from '../../../platform/queue/reconciler.service.js';
import { deleteDeliveries } from './deliveries.queries.js';
import { RemovedWebhook } from '../webhook.entity.js';

/** Deliveries deleted by one statement, which takes well under a second. */
const BATCH = 1000;
/** Deleted webhooks that one round of the reconciler works on. */
const MAX_REMOVED = 100;

/** Deletes the deliveries of deleted webhooks. */
@Injectable()
export class RemovedWebhooksService {
  constructor(
    @InjectRepository(RemovedWebhook) private readonly removed: Repository<RemovedWebhook>,
    private readonly database: DatabaseService,
  ) {}

  /**
   * Deletes the deliveries of a webhook that `tx` deletes. Only so many that the transaction stays short: the
   * reconciler deletes the rest.
   */
  async deleteDeliveries(tx: Tx, webhookId: string): Promise<void> {
    const deleted = await deleteDeliveries(tx, webhookId, BATCH);
    if (deleted === BATCH) await tx.manager.insert(RemovedWebhook, { webhookId });
  }

  /** Deletes what `deleteDeliveries` left. */
  async deleteRemaining(): Promise<void> {
    for (const { webhookId } of await this.removed.find({ take: MAX_REMOVED })) {
      const isEmpty = await repeatWhileFull(BATCH, () => deleteDeliveries(this.database, webhookId, BATCH));
      if (isEmpty) await this.removed.delete({ webhookId });
    }
  }
}
