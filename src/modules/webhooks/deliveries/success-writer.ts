import DataLoader from 'dataloader';
import type { Database } from '../../../platform/database/database.js';
import { isDatabaseUnavailable } from '../../../platform/database/unavailable.js';

/** A delivery that its receiver has taken. */
interface Success {
  id: string;
  leaseToken: string;
  /** 200 to 299. */
  status: number | null;
  durationMs: number;
}

/** Deliveries that one statement writes down. */
const BATCH = 100;

/**
 * Writes down which deliveries have arrived, one statement after the other: what arrives while one is under way goes
 * into the next. Under load a commit stands for many deliveries, and nobody waits for a batch to fill.
 */
export class SuccessWriter {
  private underWay: Promise<unknown> = Promise.resolve();
  private readonly loader = new DataLoader<Success, null>((batch) => this.writeNext(batch), {
    cache: false,
    maxBatchSize: BATCH,
    batchScheduleFn: (begin) => void this.underWay.finally(begin),
  });

  constructor(private readonly database: Database) {}

  /** Resolves once it is committed. A delivery that is no longer ours, or gone, is left alone. */
  async write(success: Success): Promise<void> {
    await this.loader.load(success);
  }

  private async writeNext(batch: readonly Success[]): Promise<(null | Error)[]> {
    const written = this.writeAll(batch);
    this.underWay = written.catch(() => undefined);
    return await written;
  }

  private async writeAll(batch: readonly Success[]): Promise<(null | Error)[]> {
    try {
      await this.update(batch);
      return batch.map(() => null);
    } catch (error) {
      if (batch.length === 1 || isDatabaseUnavailable(error)) throw error;
      // One of them is in somebody's way, as when its webhook is being deleted: the others must not suffer.
      const outcomes = await Promise.allSettled(batch.map((success) => this.update([success])));
      return outcomes.map((outcome) => (outcome.status === 'fulfilled' ? null : (outcome.reason as Error)));
    }
  }

  /** Locks in the order of ids, as everybody does who changes several. */
  private async update(batch: readonly Success[]): Promise<void> {
    await this.database.prepared(
      `WITH arrived AS MATERIALIZED (
         SELECT d.id, s.status, s.duration_ms
         FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[]) AS s (id, lease_token, status, duration_ms)
         JOIN deliveries d ON d.id = s.id AND d.lease_token = s.lease_token AND d.status = 'pending'
         ORDER BY d.id FOR UPDATE OF d)
       UPDATE deliveries d SET status = 'delivered', next_attempt_at = NULL, lease_token = NULL, lease_until = NULL,
         last_status = arrived.status, last_error = NULL, last_duration_ms = arrived.duration_ms, updated_at = now()
       FROM arrived WHERE d.id = arrived.id`,
      [
        batch.map(({ id }) => id),
        batch.map(({ leaseToken }) => leaseToken),
        batch.map(({ status }) => status),
        batch.map(({ durationMs }) => durationMs),
      ],
    );
  }
}
