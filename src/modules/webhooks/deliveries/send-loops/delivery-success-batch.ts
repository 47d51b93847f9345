import type { DatabaseService } from '../../../../platform/database/database.service.js';
import { coalesce } from '../../../../platform/concurrency/coalesce.js';
import { type DeliverySuccess, markDelivered } from '../deliveries.queries.js';

/**
 * Saves successful deliveries, many in one commit under load: 8 at a time take 190 µs CPU each instead of 670
 * (docs/performance.md). Held by delivery-success-batch.spec.ts.
 */
export class DeliverySuccessBatch {
  /** Resolves after the commit. A delivery whose lease is lost is left unchanged. */
  readonly save = coalesce<DeliverySuccess, void>((batch) => this.saveAll(batch));

  constructor(private readonly database: DatabaseService) {}

  private async saveAll(batch: readonly DeliverySuccess[]): Promise<(void | Promise<void>)[]> {
    const saved = new Set(await markDelivered(this.database, batch, { skipLocked: true }));
    // Locked, for example while its webhook is being deleted: it waits without the others.
    return batch.map((success) => (saved.has(success.id) ? undefined : this.saveAlone(success)));
  }

  private async saveAlone(success: DeliverySuccess): Promise<void> {
    await markDelivered(this.database, [success], { skipLocked: false });
  }
}
