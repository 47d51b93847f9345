import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { DatabaseService } from '../../platform/database/database.service.js';
import { SecretsService } from '../../platform/secrets/secrets.service.js';
import type { ApiKey } from './api-key.entity.js';

/**
 * Once SECRET_KEY has changed, hashes anew each key's secret that is shown to us: only then do we have it. No request
 * waits for that, and none fails by it: what cannot be written now is hashed anew at the key's next use.
 */
@Injectable()
export class SecretRehashService implements OnApplicationShutdown {
  private readonly logger = new Logger(SecretRehashService.name);
  private readonly pending = new Map<string, { before: string; after: string }>();
  private working: Promise<void> | null = null;

  constructor(
    private readonly database: DatabaseService,
    private readonly secrets: SecretsService,
  ) {}

  /** @param secret that matches the key's hash. */
  renew({ id, secretHash: before }: Pick<ApiKey, 'id' | 'secretHash'>, secret: string): void {
    if (this.secrets.madeUnder(before) !== 'previous' || this.pending.has(id)) return;
    this.pending.set(id, { before, after: this.secrets.hash(secret) });
    this.working ??= this.work();
  }

  async onApplicationShutdown(): Promise<void> {
    this.pending.clear();
    await this.working;
  }

  /** One after the other: many keys that are used for the first time must not take all connections from requests. */
  private async work(): Promise<void> {
    for (const [id, { before, after }] of this.pending) {
      await this.write(id, before, after);
      this.pending.delete(id);
    }
    this.working = null;
  }

  private async write(id: string, before: string, after: string): Promise<void> {
    try {
      await this.database.query('UPDATE api_keys SET secret_hash = $3 WHERE id = $1 AND secret_hash = $2', [
        id,
        before,
        after,
      ]);
    } catch (error) {
      this.logger.warn({ err: error, key_id: id }, 'the hash of a key could not be renewed');
    }
  }
}
