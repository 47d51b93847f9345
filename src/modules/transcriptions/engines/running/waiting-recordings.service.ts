import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Registry } from 'prom-client';
import { sharedRun } from '../../../../platform/concurrency/shared-run.js';
import { DatabaseService } from '../../../../platform/database/database.service.js';
import { HealthService } from '../../../../platform/observability/health.service.js';
import { valueGauge } from '../../../../platform/observability/metrics.js';
import { ReconcilerService } from '../../../../platform/queue/reconciler.service.js';
import { RecordingInclusionsService } from '../../../recordings/recording-inclusions.service.js';
import { RunningEnginesService } from './running-engines.service.js';
import { countUnserved, isUnserved } from './waiting-recordings.queries.js';

const COUNT_KEPT_MS = 10_000;

/** Tells clients and operators of recordings that wait for an engine which no running worker has (D67). */
@Injectable()
export class WaitingRecordingsService implements OnModuleInit {
  private readonly logger = new Logger(WaitingRecordingsService.name);
  private readonly count = sharedRun(() => this.readCount(), COUNT_KEPT_MS);
  private hasWarned = false;

  constructor(
    private readonly running: RunningEnginesService,
    private readonly database: DatabaseService,
    private readonly inclusions: RecordingInclusionsService,
    private readonly health: HealthService,
    private readonly reconciler: ReconcilerService,
    private readonly registry: Registry,
  ) {}

  onModuleInit(): void {
    this.inclusions.register('waiting_for', async ({ id }) => {
      const names = await this.running.names();
      return names !== null && (await isUnserved(this.database, id, names)) ? 'engine' : null;
    });
    this.health.notice('waiting_for_engine', async () => {
      const count = await this.count();
      return count ? `${count} recordings wait for an engine that no running worker has` : null;
    });
    const help = 'Recordings that have waited for a minute for an engine that no running worker has.';
    this.registry.registerMetric(valueGauge('recordings_waiting_for_engine', help, () => this.count()));
    this.reconciler.register('look for recordings without an engine', () => this.warn());
  }

  /** Null when it cannot be known. */
  private async readCount(): Promise<number | null> {
    const names = await this.running.names();
    return names === null ? null : await countUnserved(this.database, names).catch(() => null);
  }

  /** A line when it begins and when it ends. */
  private async warn(): Promise<void> {
    const count = await this.count();
    if (count === null || count > 0 === this.hasWarned) return;
    this.hasWarned = count > 0;
    const fields = { recordings: count, engines: await this.running.names() };
    if (count > 0) this.logger.warn(fields, 'recordings wait for an engine that no running worker has');
    else this.logger.log(fields, 'all recordings have an engine again');
  }
}
