import { useSignal } from '@preact/signals';
import { lazy, Suspense } from 'preact/compat';

import { Segments } from '../../forms/segments';
import { t, type Text } from '../../language/texts';
import { formatHours } from './format-hours';
import type { Metric } from './usage-chart';
import { dayInWords, dayName, sumInWords, type UsageItem } from './usage-in-words';

const UsageChart = lazy(() => import('./usage-chart'));

const METRICS: readonly { value: Metric; label: Text }[] = [
  { value: 'recordings', label: 'Recordings' },
  { value: 'audio', label: 'Audio' },
];

const COLUMNS: readonly Text[] = ['Recordings', 'Transcribed', 'Failed', 'Audio'];

/** The last 30 days as a chart, and as a table for those who do not see it. */
export function UsageByDay({ days }: { days: readonly UsageItem[] }) {
  const metric = useSignal<Metric>('recordings');
  const pointed = useSignal<UsageItem | null>(null);
  return (
    <section class="card" aria-labelledby="days-title">
      <header class="card-header">
        <div>
          <h2 id="days-title">{t('Last 30 days')}</h2>
          <p class="muted small numbers">{pointed.value ? dayInWords(pointed.value) : sumInWords(days)}</p>
        </div>
        <Segments
          label={t('Figure')}
          options={METRICS.map(({ value, label }) => ({ value, label: t(label) }))}
          value={metric.value}
          onChange={(next) => (metric.value = next)}
        />
      </header>
      <div class="card-body">
        <Suspense fallback={<div class="usage-chart" />}>
          <UsageChart days={days} metric={metric.value} onPoint={(day) => (pointed.value = day)} />
        </Suspense>
        <div class="usage-foot">
          {metric.value === 'recordings' && (
            <p class="chart-legend small muted">
              <span>{t('All recordings')}</span>
              <span class="is-failed">{t('Failed')}</span>
            </p>
          )}
          <details class="usage-table">
            <summary>{t('Show as a table')}</summary>
            <DayTable days={days} />
          </details>
        </div>
      </div>
    </section>
  );
}

function DayTable({ days }: { days: readonly UsageItem[] }) {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={t('Usage by day')}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">{t('Day')}</th>
            {COLUMNS.map((title) => (
              <th key={title} scope="col" class="is-number">
                {t(title)}
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
