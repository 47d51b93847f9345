import { useSignal } from '@preact/signals';

import { Empty } from '../../components/empty';
import { Failed } from '../../components/failed';
import { Loading } from '../../components/loading';
import { Segments } from '../../forms/segments';
import { formatBytes } from '../../format/bytes';
import { useAsync } from '../../hooks/use-async';
import { formatHours } from './format-hours';
import { loadBreakdown, type Part } from './load-breakdown';

type By = 'key' | 'user';

const CHOICES: readonly { value: By; label: string }[] = [
  { value: 'key', label: 'By key' },
  { value: 'user', label: 'By end user' },
];

/** Who made the recordings of the last 30 days. */
export function Breakdown() {
  const by = useSignal<By>('key');
  const parts = useAsync((signal) => loadBreakdown(by.value, signal), [by.value]);
  return (
    <section class="card" aria-labelledby="breakdown-title">
      <header class="card-header">
        <h2 id="breakdown-title">Breakdown</h2>
        <Segments label="Break down" options={CHOICES} value={by.value} onChange={(next) => (by.value = next)} />
      </header>
      {Boolean(parts.error) && <Failed error={parts.error} onRetry={parts.reload} />}
      {!parts.value && parts.loading && <Loading label="Loading…" />}
      {parts.value?.parts.length === 0 && (
        <Empty icon="chart" title="No recordings" hint="Nothing was uploaded in the last 30 days." />
      )}
      {parts.value && parts.value.parts.length > 0 && <PartTable {...parts.value} by={parts.value.by} />}
    </section>
  );
}

interface PartTableProps {
  by: By;
  parts: readonly Part[];
  /** There are more than one page holds. */
  isCut: boolean;
}

function PartTable({ by, parts, isCut }: PartTableProps) {
  const most = Math.max(...parts.map(({ seconds }) => seconds), 1);
  return (
    <>
      <div
        class="table-scroll"
        tabIndex={0}
        role="region"
        aria-label={by === 'key' ? 'Usage by key' : 'Usage by end user'}
      >
        <table class="table">
          <thead>
            <tr>
              <th scope="col">{by === 'key' ? 'Key' : 'End user'}</th>
              <th scope="col" class="is-number">
                Audio
              </th>
              <th scope="col" class="is-number">
                Recordings
              </th>
              <th scope="col" class="is-number">
                Failed
              </th>
              <th scope="col" class="is-number">
                Stored
              </th>
            </tr>
          </thead>
          <tbody>
            {parts.map((part) => (
              <PartLine key={part.id ?? ''} part={part} most={most} />
            ))}
          </tbody>
        </table>
      </div>
      {isCut && <p class="card-body muted small">These are the first 100. GET /v1/account/usage returns them all.</p>}
    </>
  );
}

function PartLine({ part, most }: { part: Part; most: number }) {
  return (
    <tr>
      <th scope="row" class="part-name">
        <span dir="auto">{part.name}</span>
        <span class="share" style={{ inlineSize: `${(100 * part.seconds) / most}%` }} />
      </th>
      <td class="is-number">{formatHours(part.seconds)}</td>
      <td class="is-number">{part.recordings.toLocaleString('en')}</td>
      <td class="is-number">{part.failed.toLocaleString('en')}</td>
      <td class="is-number">{formatBytes(part.bytes)}</td>
    </tr>
  );
}
