import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { DatabaseService } from '../../platform/database/database.service.js';

/** `last_used_at` and `usage_count` may lag by 5 s (D13): authentication must not wait for a write. */
const FLUSH_MS = 2000;

interface Uses {
  count: number;
  lastUsedAt: Date;
}

/** Counts the uses of keys in memory and writes them down together, a statement for all. */
@Injectable()
export class ApiKeyUsageService implements OnApplicationShutdown {
  private readonly logger = new Logger(ApiKeyUsageService.name);
  private pending = new Map<string, Uses>();
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> = Promise.resolve();

  constructor(private readonly database: DatabaseService) {}

  count(keyId: string): void {
    const uses = this.pending.get(keyId);
    this.pending.set(keyId, { count: (uses?.count ?? 0) + 1, lastUsedAt: new Date() });
    this.timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    this.flush();
    await this.flushing;
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.flushing = this.flushing.then(() => this.write());
  }

  private async write(): Promise<void> {
    const batch = this.pending;
    if (batch.size === 0) return;
    this.pending = new Map();
    try {
      // In the order of ids, so that two processes never wait for each other's rows in turn.
      const uses = [...batch].toSorted(([a], [b]) => (a < b ? -1 : 1));
      await this.database.query(
        `UPDATE api_keys k SET usage_count = k.usage_count + u.count, last_used_at = greatest(k.last_used_at, u.used_at)
         FROM (SELECT k.id, u.count, u.used_at
               FROM unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) AS u (id, count, used_at)
               JOIN api_keys k USING (id) ORDER BY k.id FOR UPDATE OF k) u
         WHERE k.id = u.id`,
        [uses.map(([id]) => id), uses.map(([, u]) => u.count), uses.map(([, u]) => u.lastUsedAt)],
      );
    } catch (error) {
      this.logger.warn({ err: error }, 'the uses of keys could not be written and will be tried again');
      for (const [id, { count, lastUsedAt }] of batch) {
        const since = this.pending.get(id);
        this.pending.set(id, { count: count + (since?.count ?? 0), lastUsedAt: since?.lastUsedAt ?? lastUsedAt });
      }
      this.timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref();
    }
  }
}
