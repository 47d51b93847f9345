import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Env } from '../../platform/config/env.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { ReconcilerService } from '../../platform/queue/reconciler.service.js';
import { Spool } from '../../platform/storage/spool.js';
import { IDEMPOTENCY_HOURS } from './upload/upload.service.js';
import { compactUsageCounters } from './usage-counters/usage-counters.js';

/** Keeps the tables and the spool of this room tidy. */
@Injectable()
export class RecordingsReconciler implements OnModuleInit {
  constructor(
    private readonly database: DatabaseService,
    private readonly spool: Spool,
    private readonly env: Env,
    private readonly reconciler: ReconcilerService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('fold tallies', () => compactUsageCounters(this.database));
    this.reconciler.register('forget idempotency keys', () => this.forgetKeys());
    this.reconciler.register('sweep the spool', () => this.sweep(), { everyProcess: true });
  }

  private async forgetKeys(): Promise<void> {
    await this.database.query(
      `DELETE FROM idempotency_keys WHERE created_at < now() - make_interval(hours => ${IDEMPOTENCY_HOURS})`,
    );
  }

  /** The spool also holds local copies of remote objects, for as long as a transcription may take. */
  private async sweep(): Promise<void> {
    await this.spool.sweep(2 * (this.env.uploadTimeoutSeconds + this.env.maxAudioSeconds));
  }
}
