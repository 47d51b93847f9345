import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Registry } from 'prom-client';
import { sharedRun } from '../../../platform/concurrency/shared-run.js';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { valueGauge } from '../../../platform/observability/metrics.js';
import { readQueue } from './recording-claims.queries.js';

/** Metrics of the queue of recordings. It is in Postgres, so that every process answers the same. */
@Injectable()
export class RecordingQueueMetricsService implements OnModuleInit {
  constructor(
    private readonly database: DatabaseService,
    private readonly registry: Registry,
  ) {}

  onModuleInit(): void {
    const { registry } = this;
    const read = sharedRun(() => readQueue(this.database).catch(() => null));
    const waiting = 'Recordings that wait for a worker, counted up to 10,000 for each account.';
    registry.registerMetric(valueGauge('recordings_waiting', waiting, async () => (await read())?.length ?? null));
    const audio = 'Seconds of audio of these recordings together.';
    registry.registerMetric(
      valueGauge('recordings_waiting_audio_seconds', audio, async () => (await read())?.audioSeconds ?? null),
    );
    const oldest = 'How long the oldest recording has waited for a worker, in seconds.';
    registry.registerMetric(
      valueGauge('recordings_waiting_seconds', oldest, async () => (await read())?.oldestSeconds ?? null),
    );
  }
}
