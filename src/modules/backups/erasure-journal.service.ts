import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Registry } from 'prom-client';
import { Env } from '../../platform/config/env.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { addGauge } from '../../platform/observability/metrics.js';
import { ReconcilerService, repeatWhileFull } from '../../platform/queue/reconciler.service.js';
import { BackupDestination } from './backup-destination.js';
import { writeNewErasures } from './erasure-journal.js';

/** Backups that are made less often would not hear of all erasures between two of them. */
const KEPT_DAYS = 30;
const BATCH = 1000;

/** Stores what is erased beside the backups, so that no restored backup brings it back; and says when the last was made. */
@Injectable()
export class ErasureJournalService implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(ErasureJournalService.name);
  private destination: BackupDestination | null = null;

  constructor(
    private readonly env: Env,
    private readonly database: DatabaseService,
    private readonly reconciler: ReconcilerService,
    private readonly registry: Registry,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('write erasures', () => this.write());
    this.reconciler.register('forget erasures', () => this.forget());
    const help = 'When the last backup was made, in seconds since 1970; absent before the first.';
    addGauge(this.registry, 'backup_last_success_timestamp_seconds', help, () => this.secondsOf(LAST_SUCCESS));
    if (this.env.backupDestination === null) return;
    const waiting = 'Age of the oldest erasure that is not stored beside the backups yet, in seconds; 0 without one.';
    addGauge(this.registry, 'backup_unwritten_erasure_seconds', waiting, () => this.secondsOf(OLDEST_UNWRITTEN));
  }

  onApplicationShutdown(): void {
    this.destination?.close();
  }

  private async write(): Promise<void> {
    if (this.env.backupDestination === null) return;
    this.destination ??= await BackupDestination.open(this.env, this.env.backupDestination);
    const erasures = await writeNewErasures(this.database, this.destination);
    if (erasures > 0) this.logger.debug({ erasures }, 'erasures written');
  }

  /** What is still to be written stays. */
  private async forget(): Promise<void> {
    await repeatWhileFull(BATCH, async () => {
      const gone = await this.database.query(
        `DELETE FROM erasures WHERE id = ANY (ARRAY(
           SELECT id FROM erasures WHERE at < now() - make_interval(days => $1) AND (is_written OR $2) LIMIT $3))
         RETURNING 1`,
        [KEPT_DAYS, this.env.backupDestination === null, BATCH],
      );
      return gone.length;
    });
  }

  /** Null when the database does not answer, or has nothing to say. */
  private async secondsOf(sql: string): Promise<number | null> {
    const rows = await this.database.query<{ seconds: number | null }>(sql).catch(() => []);
    return rows[0]?.seconds ?? null;
  }
}

const LAST_SUCCESS = 'SELECT extract(epoch FROM last_success_at)::float8 AS seconds FROM backup_state';
const OLDEST_UNWRITTEN = `SELECT coalesce(extract(epoch FROM now() - min(at)), 0)::float8 AS seconds
  FROM erasures WHERE NOT is_written`;
