import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ConcurrentUploadsError } from '../../../platform/errors/errors.js';
import { RedisService } from '../../../platform/redis/redis.service.js';
import { type ReleaseSlot, SharedSlots } from '../../../platform/rate-limit/shared-slots.js';
import { QuotaRefusalsService } from './quota-refusals.service.js';

/** Uploads under way, by account (D32). */
@Injectable()
export class UploadSlotsService implements OnApplicationShutdown {
  private readonly slots: SharedSlots;

  constructor(
    redis: RedisService,
    private readonly refusals: QuotaRefusalsService,
  ) {
    this.slots = new SharedSlots(redis, 'uploads');
  }

  /** @param limit null: unlimited. @throws ConcurrentUploadsError */
  async take(accountId: string, limit: number | null): Promise<ReleaseSlot> {
    if (limit === null) return () => undefined;
    const slot = await this.slots.take(accountId, limit);
    if (typeof slot === 'function') return slot;
    this.refusals.count('concurrent_uploads');
    throw new ConcurrentUploadsError(limit, slot);
  }

  /** Uploads of an account that are under way. */
  async count(accountId: string): Promise<number> {
    return await this.slots.count(accountId);
  }

  onApplicationShutdown(): void {
    this.slots.stop();
  }
}
