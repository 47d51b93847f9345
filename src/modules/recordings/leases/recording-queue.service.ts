import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { MetricsMiddleware } from '../../../platform/observability/metrics.middleware.js';
import { sharedRun } from '../../../platform/observability/shared-run.js';
import { readQueue, type RecordingQueue } from './recording-claims.queries.js';

type Read = () => Promise<RecordingQueue | null>;

/** Metrics of the queue of recordings. It is in Postgres, so that every process answers the same. */
@Injectable()
export class RecordingQueueService implements OnModuleInit {
  constructor(
    private readonly database: DatabaseService,
    private readonly metrics: MetricsMiddleware,
  ) {}

  onModuleInit(): void {
    const { registry } = this.metrics;
    const read: Read = sharedRun(() => readQueue(this.database).catch(() => null));
    const waiting = 'Recordings that wait for a worker, counted up to 10,000 for each account.';
    registry.registerMetric(gauge('recordings_waiting', waiting, read, 'length'));
    const oldest = 'How long the oldest recording has waited for a worker, in seconds.';
    registry.registerMetric(gauge('recordings_waiting_seconds', oldest, read, 'oldestSeconds'));
  }
}

function gauge(name: string, help: string, read: Read, field: keyof RecordingQueue): Gauge {
  return new Gauge({
    name,
    help,
    registers: [],
    async collect() {
      const queue = await read();
      // Without Postgres there is no figure, which is better than an old one.
      if (queue === null) this.remove();
      else this.set(queue[field]);
    },
  });
}
