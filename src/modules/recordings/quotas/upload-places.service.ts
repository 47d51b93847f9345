import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ConcurrentUploadsError } from '../../../platform/errors/errors.js';
import { RedisService } from '../../../platform/queue/redis.service.js';
import { type FreePlace, Places } from '../../../platform/rate-limit/places.js';
import { QuotaRefusalsService } from './quota-refusals.service.js';

/** Uploads under way, by account (D32). */
@Injectable()
export class UploadPlacesService implements OnApplicationShutdown {
  private readonly places: Places;

  constructor(
    redis: RedisService,
    private readonly refusals: QuotaRefusalsService,
  ) {
    this.places = new Places(redis, 'uploads');
  }

  /** @param limit null: unlimited. @throws ConcurrentUploadsError */
  async take(accountId: string, limit: number | null): Promise<FreePlace> {
    if (limit === null) return () => undefined;
    const taken = await this.places.take(accountId, limit);
    if (typeof taken === 'function') return taken;
    this.refusals.count('concurrent_uploads');
    throw new ConcurrentUploadsError(limit, taken);
  }

  /** Uploads of an account that are under way. */
  async count(accountId: string): Promise<number> {
    return await this.places.count(accountId);
  }

  onApplicationShutdown(): void {
    this.places.stop();
  }
}
