import { Counter, type Registry } from 'prom-client';
import { planOf } from '../../../access/plans.js';
import { repairsOf } from '../../../platform/observability/metrics.js';
import type { Lease } from '../../recordings/leases/recording-leases.service.js';
import type { EndedRun } from './transcription-run.service.js';

/** A recording has its text within twice its length and this many seconds. */
const GRACE_SECONDS = 5;
const LENGTHS = 2;
/** The label of recordings that no engine transcribed. */
const NO_ENGINE = 'none';

/**
 * Counts how many recordings have their text in time after their upload. Those that are transcribed again are not counted,
 * nor those that failed by their audio: nobody waits for the former, and no engine could help the latter.
 */
export class TranscriptionServiceLevel {
  private readonly ended = new Counter({
    name: 'transcriptions_total',
    help: 'Uploads that got their text, or failed by crashes of the engine (engine none), by plan and engine.',
    labelNames: ['plan', 'engine'],
    registers: [],
  });
  private readonly onTime = new Counter({
    name: 'transcriptions_on_time_total',
    help: 'Those of them that had their text within twice their length and 5 s.',
    labelNames: ['plan', 'engine'],
    registers: [],
  });
  private readonly repairs: Counter<'kind'>;

  constructor(registry: Registry) {
    for (const metric of [this.ended, this.onTime]) registry.registerMetric(metric);
    this.repairs = repairsOf(registry);
  }

  /** @returns what is to be told how its run ended. */
  begin({ plan, ageSeconds, run, rerun, isTakenOver }: Lease): (ended: EndedRun | null) => void {
    const claimedAt = performance.now();
    if (isTakenOver) this.repairs.inc({ kind: 'recording_taken_over' });
    return (ended) => {
      if (!ended || run > 1 || rerun !== null) return;
      const seconds = ageSeconds + (performance.now() - claimedAt) / 1000;
      const isOnTime = ended.engine !== null && seconds <= (LENGTHS * ended.durationMs) / 1000 + GRACE_SECONDS;
      const labels = { plan: planOf(plan).name, engine: ended.engine ?? NO_ENGINE };
      this.ended.inc(labels);
      // With a zero, so that there is a rate as soon as there is one of the total.
      this.onTime.inc(labels, isOnTime ? 1 : 0);
    };
  }
}
