import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { DatabaseService } from '../../platform/database/database.service.js';
import { DelayedWrite } from '../../platform/concurrency/delayed-write.js';
import { addKeyUses, type KeyUses } from './api-keys.queries.js';

/** `last_used_at` and `usage_count` may lag by 5 s, since authentication must not wait for a write (D13). */
const FLUSH_MS = 2000;

/** Counts the uses of keys in memory and writes them together, in one statement for all keys. */
@Injectable()
export class ApiKeyUsageService implements OnApplicationShutdown {
  private readonly logger = new Logger(ApiKeyUsageService.name);
  private pending = new Map<string, KeyUses>();
  private readonly delayed = new DelayedWrite(FLUSH_MS, () => this.write());

  constructor(private readonly database: DatabaseService) {}

  count(keyId: string): void {
    const uses = this.pending.get(keyId);
    this.pending.set(keyId, { count: (uses?.count ?? 0) + 1, lastUsedAt: new Date() });
    this.delayed.schedule();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.delayed.flush();
  }

  private async write(): Promise<void> {
    const batch = this.pending;
    if (batch.size === 0) return;
    this.pending = new Map();
    try {
      await addKeyUses(this.database, batch);
    } catch (error) {
      this.logger.warn({ err: error }, 'api key usage not written; retrying');
      for (const [id, { count, lastUsedAt }] of batch) {
        const since = this.pending.get(id);
        this.pending.set(id, { count: count + (since?.count ?? 0), lastUsedAt: since?.lastUsedAt ?? lastUsedAt });
      }
      this.delayed.schedule();
    }
  }
}
