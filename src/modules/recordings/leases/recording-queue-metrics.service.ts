import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Registry } from 'prom-client';
import { planNames, planOf } from '../../../access/plans.js';
import { sharedRun } from '../../../platform/concurrency/shared-run.js';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { addLabelledGauge, type LabelledValue, addGauge } from '../../../platform/observability/metrics.js';
import { type OldestUnprocessed, readOldestUnprocessed, readQueue } from './recording-claims.queries.js';

/** Of the oldest by plan: with 10,000 accounts that wait they take 0.2 s. */
const KEPT_MS = 10_000;

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
    addGauge(registry, 'recordings_waiting', waiting, async () => (await read())?.length ?? null);
    const audio = 'Seconds of audio of these recordings together.';
    addGauge(registry, 'recordings_waiting_audio_seconds', audio, async () => (await read())?.audioSeconds ?? null);
    const oldest = 'How long the oldest recording has waited for a worker, in seconds.';
    addGauge(registry, 'recordings_waiting_seconds', oldest, async () => (await read())?.oldestSeconds ?? null);
    const help = 'How long the recording without its text that was uploaded first has been without it, by plan.';
    const readOldest = sharedRun(() => readOldestUnprocessed(this.database).catch(() => null), KEPT_MS);
    const gauge = { name: 'recordings_unprocessed_seconds', help, labelNames: ['plan'] };
    addLabelledGauge(registry, gauge, async () => oldestByPlan(await readOldest()));
  }
}

/** A plan without any has a zero, and accounts of a plan that is no longer registered count for the default one. */
function oldestByPlan(rows: readonly OldestUnprocessed[] | null): LabelledValue[] | null {
  if (!rows) return null;
  const oldest = new Map(planNames().map((plan) => [plan, 0]));
  for (const { plan, oldestSeconds } of rows) {
    const { name } = planOf(plan);
    oldest.set(name, Math.max(oldest.get(name) ?? 0, oldestSeconds));
  }
  return [...oldest].map(([plan, value]) => ({ labels: { plan }, value }));
}
