import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Env } from '../../platform/config/env.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { ReconcilerService, repeatWhileFull } from '../../platform/queue/reconciler.service.js';
import { Spool } from '../../platform/storage/spool.js';
import { RecordingLeasesService } from './leases/recording-leases.service.js';
import { unmarkIdleAccounts } from './leases/recording-claims.queries.js';
import { selectOldTestRecordings } from './test-accounts/old-test-recordings.queries.js';
import { RecordingsService } from './recordings.service.js';
import { deleteExpiredIdempotencyKeys } from './upload/idempotency.queries.js';
import { deleteOldBreakdowns } from './usage-counters/usage-breakdown.queries.js';
import { compactUsageCounters } from './usage-counters/usage-counters.queries.js';

/** Rows deleted by one statement. */
const BATCH = 1000;

/**
 * Fails recordings whose attempts are used up, compacts the usage counters, unmarks accounts that wait for nothing, and
 * deletes old counters of keys and end users, expired idempotency keys, old recordings of test accounts and abandoned spool
 * files.
 */
@Injectable()
export class RecordingsReconciler implements OnModuleInit {
  constructor(
    private readonly database: DatabaseService,
    private readonly spool: Spool,
    private readonly env: Env,
    private readonly leases: RecordingLeasesService,
    private readonly recordings: RecordingsService,
    private readonly reconciler: ReconcilerService,
  ) {}

  onModuleInit(): void {
    const { database, reconciler } = this;
    const inBatches = (name: string, change: () => Promise<number>): void =>
      reconciler.register(name, async () => void (await repeatWhileFull(BATCH, change)));
    reconciler.register('fail exhausted recordings', () => this.leases.failExhausted(), {
      repairs: 'recording_given_up',
    });
    reconciler.register('compact usage counters', () => compactUsageCounters(database));
    inBatches('unmark idle accounts', () => database.transact((tx) => unmarkIdleAccounts(tx, BATCH)));
    inBatches('delete expired idempotency keys', () => deleteExpiredIdempotencyKeys(database, BATCH));
    inBatches('delete old usage breakdowns', () => deleteOldBreakdowns(database, BATCH));
    inBatches('delete old recordings of test accounts', () => this.deleteOldTestRecordings());
    reconciler.register('sweep the spool', () => this.sweepSpool(), {
      everyProcess: true,
      repairs: 'spool_file_abandoned',
    });
  }

  private async deleteOldTestRecordings(): Promise<number> {
    const due = await selectOldTestRecordings(this.database, BATCH);
    for (const { accountId, id } of due) await this.recordings.deleteIfPresent(accountId, id);
    return due.length;
  }

  /** The spool also holds local copies of remote objects, which a transcription uses until it ends. */
  private async sweepSpool(): Promise<number> {
    return await this.spool.sweep(2 * (this.env.uploadTimeoutSeconds + this.env.maxAudioSeconds));
  }
}
