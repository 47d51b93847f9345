import type { DatabaseService } from '../../../platform/database/database.service.js';
import { coalesce } from '../../../platform/queue/coalesce.js';

/** A delivery that its receiver has taken. */
interface Success {
  id: string;
  leaseToken: string;
  /** 200 to 299. */
  status: number | null;
  durationMs: number;
}

/** Writes down which deliveries have arrived: under load a commit stands for many of them. */
export class DeliverySuccessBatch {
  /** Resolves once it is committed. A delivery that is no longer ours, or gone, is left alone. */
  readonly write = coalesce<Success, void>((batch) => this.writeAll(batch));

  constructor(private readonly database: DatabaseService) {}

  private async writeAll(batch: readonly Success[]): Promise<(void | Promise<void>)[]> {
    const written = await this.update(batch, 'SKIP LOCKED');
    // In somebody's hands, as when its webhook is being deleted: it waits, and by itself.
    return batch.map((success) => (written.has(success.id) ? undefined : this.writeAlone(success)));
  }

  private async writeAlone(success: Success): Promise<void> {
    await this.update([success], '');
  }

  /** @returns the ids of those that were written. Several are written without waiting for locks, so nothing can deadlock. */
  private async update(batch: readonly Success[], locked: '' | 'SKIP LOCKED'): Promise<Set<string>> {
    const rows = await this.database.prepared<{ id: string }>(
      `WITH arrived AS MATERIALIZED (
         SELECT d.id, s.status, s.duration_ms
         FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[]) AS s (id, lease_token, status, duration_ms)
         JOIN deliveries d ON d.id = s.id AND d.lease_token = s.lease_token AND d.status = 'pending'
         FOR UPDATE OF d ${locked})
       UPDATE deliveries d SET status = 'delivered', next_attempt_at = NULL, lease_token = NULL, lease_until = NULL,
         last_status = arrived.status, last_error = NULL, last_duration_ms = arrived.duration_ms, updated_at = now()
       FROM arrived WHERE d.id = arrived.id RETURNING d.id`,
      [
        batch.map(({ id }) => id),
        batch.map(({ leaseToken }) => leaseToken),
        batch.map(({ status }) => status),
        batch.map(({ durationMs }) => durationMs),
      ],
    );
    return new Set(rows.map(({ id }) => id));
  }
}
