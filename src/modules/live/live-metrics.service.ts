import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Registry } from 'prom-client';
import { sharedRun } from '../../platform/concurrency/shared-run.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { addGauge } from '../../platform/observability/metrics.js';
import { type LiveQueue, readLiveQueue } from './live-assemblies.queries.js';

/** Metrics of live recordings. They are in Postgres, so that every process answers the same. */
@Injectable()
export class LiveMetricsService implements OnModuleInit {
  constructor(
    private readonly database: DatabaseService,
    private readonly registry: Registry,
  ) {}

  onModuleInit(): void {
    const read = sharedRun(() => readLiveQueue(this.database).catch(() => null));
    const add = (name: string, help: string, figure: keyof LiveQueue): void =>
      addGauge(this.registry, name, help, async () => (await read())?.[figure] ?? null);
    add('live_recordings', 'Recordings that are being recorded.', 'live');
    add('live_recordings_waiting', 'Live recordings that have ended, and whose file is not stored yet.', 'waiting');
    add('live_recordings_waiting_seconds', 'How long the oldest of them has waited, in seconds.', 'oldestSeconds');
  }
}
