import { useSignal } from '@preact/signals';
import { lazy, Suspense } from 'preact/compat';

import { Segments } from '../../forms/segments';
import { formatHours } from './format-hours';
import type { Metric } from './usage-chart';
import { dayInWords, dayName, sumInWords, type UsageItem } from './usage-in-words';

const UsageChart = lazy(() => import('./usage-chart'));

const METRICS: readonly { value: Metric; label: string }[] = [
  { value: 'recordings', label: 'Recordings' },
  { value: 'audio', label: 'Audio' },
];

/** The last 30 days as a chart, and as a table for those who do not see it. */
export function UsageByDay({ days }: { days: readonly UsageItem[] }) {
  const metric = useSignal<Metric>('recordings');
  const pointed = useSignal<UsageItem | null>(null);
  return (
    <section class="card" aria-labelledby="days-title">
      <header class="card-header">
        <div>
          <h2 id="days-title">Last 30 days</h2>
          <p class="muted small numbers">{pointed.value ? dayInWords(pointed.value) : sumInWords(days)}</p>
        </div>
        <Segments label="Figure" options={METRICS} value={metric.value} onChange={(next) => (metric.value = next)} />
      </header>
      <div class="card-body">
        <Suspense fallback={<div class="usage-chart" />}>
          <UsageChart days={days} metric={metric.value} onPoint={(day) => (pointed.value = day)} />
        </Suspense>
        <div class="usage-foot">
          {metric.value === 'recordings' && (
            <p class="chart-legend small muted">
              <span>All recordings</span>
              <span class="is-failed">Failed</span>
            </p>
          )}
          <details class="usage-table">
            <summary>Show as a table</summary>
            <DayTable days={days} />
          </details>
        </div>
      </div>
    </section>
  );
}

function DayTable({ days }: { days: readonly UsageItem[] }) {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Usage by day">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Day</th>
            {['Recordings', 'Transcribed', 'Failed', 'Audio'].map((title) => (
              <th key={title} scope="col" class="is-number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {days.toReversed().map((item) => (
            <tr key={item.day}>
              <th scope="row">{dayName(item)}</th>
              <td class="is-number">{item.recordings_count}</td>
              <td class="is-number">{item.transcribed_count}</td>
              <td class="is-number">{item.failed_count}</td>
              <td class="is-number">{formatHours(item.total_duration_seconds)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
