import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Env } from '../../platform/config/env.js';
import { DatabaseService, type SqlRunner } from '../../platform/database/database.service.js';
import { ReconcilerService, repeatWhileFull } from '../../platform/queue/reconciler.service.js';
import { Spool } from '../../platform/storage/spool.js';
import { RecordingLeasesService } from './leases/recording-leases.service.js';
import { unmarkIdleAccounts } from './leases/recording-claims.queries.js';
import type { RecordingKey } from './recordings.queries.js';
import { RecordingsService } from './recordings.service.js';
import { deleteExpiredIdempotencyKeys } from './upload/idempotency.queries.js';
import { deleteOldBreakdowns } from './usage-counters/usage-breakdown.queries.js';
import { compactUsageCounters } from './usage-counters/usage-counters.queries.js';

/** Rows deleted by one statement. */
const BATCH = 1000;
/** How long the recordings of a test account are kept (D80). */
const TEST_RECORDING_DAYS = 7;

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

/** Those of test accounts that are past their time. SQL, because of the table of another module. */
async function selectOldTestRecordings(runner: SqlRunner, count: number): Promise<RecordingKey[]> {
  return await runner.query<RecordingKey>(
    `SELECT old.account_id AS "accountId", old.id FROM accounts a CROSS JOIN LATERAL (
       SELECT account_id, id FROM recordings
       WHERE account_id = a.id AND created_at < now() - make_interval(days => ${TEST_RECORDING_DAYS})
       ORDER BY created_at, id LIMIT $1) old
     WHERE a.test_of IS NOT NULL LIMIT $1`,
    [count],
  );
}
