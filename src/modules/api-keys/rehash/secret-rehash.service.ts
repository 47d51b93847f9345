import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { SecretsService } from '../../../platform/secrets.service.js';
import { ApiKey } from '../api-key.entity.js';

/**
 * After SECRET_KEY has changed, hashes each API secret anew when it is next used, because only then is it known. No
 * request waits for the update or fails by it: what cannot be written now is written at the next use.
 */
@Injectable()
export class SecretRehashService implements OnApplicationShutdown {
  private readonly logger = new Logger(SecretRehashService.name);
  private readonly pending = new Map<string, { before: string; after: string }>();
  private running: Promise<void> | null = null;

  constructor(
    @InjectRepository(ApiKey) private readonly keys: Repository<ApiKey>,
    private readonly secrets: SecretsService,
  ) {}

  /** @param secret must match the key's hash. */
  schedule({ id, secretHash: before }: Pick<ApiKey, 'id' | 'secretHash'>, secret: string): void {
    if (this.secrets.madeUnder(before) !== 'previous' || this.pending.has(id)) return;
    this.pending.set(id, { before, after: this.secrets.hash(secret) });
    this.running ??= this.run();
  }

  async onApplicationShutdown(): Promise<void> {
    this.pending.clear();
    await this.running;
  }

  /** One at a time: many keys that are used for the first time must not take all connections from requests. */
  private async run(): Promise<void> {
    for (const [id, { before, after }] of this.pending) {
      await this.update(id, before, after);
      this.pending.delete(id);
    }
    this.running = null;
  }

  private async update(id: string, before: string, after: string): Promise<void> {
    try {
      await this.keys.update({ id, secretHash: before }, { secretHash: after });
    } catch (error) {
      this.logger.warn({ err: error, key_id: id }, 'api key hash not renewed');
    }
  }
}
