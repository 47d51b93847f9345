import { useSignal } from '@preact/signals';

import { Empty } from '../../components/empty';
import { Failed } from '../../components/failed';
import { Loading } from '../../components/loading';
import { Segments } from '../../forms/segments';
import { formatBytes } from '../../format/bytes';
import { useAsync } from '../../hooks/use-async';
import { locale } from '../../language/language';
import { t, type Text } from '../../language/texts';
import { formatHours } from './format-hours';
import { loadBreakdown, type Part } from './load-breakdown';

type By = 'key' | 'user';

const CHOICES: readonly { value: By; label: Text }[] = [
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
        <h2 id="breakdown-title">{t('Breakdown')}</h2>
        <Segments
          label={t('Break down')}
          options={CHOICES.map(({ value, label }) => ({ value, label: t(label) }))}
          value={by.value}
          onChange={(next) => (by.value = next)}
        />
      </header>
      {Boolean(parts.error) && <Failed error={parts.error} onRetry={parts.reload} />}
      {!parts.value && parts.loading && <Loading label={t('Loading…')} />}
      {parts.value?.parts.length === 0 && (
        <Empty icon="chart" title={t('No recordings')} hint={t('Nothing was uploaded in the last 30 days.')} />
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
        aria-label={by === 'key' ? t('Usage by key') : t('Usage by end user')}
      >
        <table class="table">
          <thead>
            <tr>
              <th scope="col">{by === 'key' ? t('Key') : t('End user')}</th>
              <th scope="col" class="is-number">
                {t('Audio')}
              </th>
              <th scope="col" class="is-number">
                {t('Recordings')}
              </th>
              <th scope="col" class="is-number">
                {t('Failed')}
              </th>
              <th scope="col" class="is-number">
                {t('Stored')}
              </th>
            </tr>
          </thead>
          <tbody>
            {parts.map((part) => (
              <PartLine key={part.id ?? ''} by={by} part={part} most={most} />
            ))}
          </tbody>
        </table>
      </div>
      {isCut && (
        <p class="card-body muted small">{t('These are the first 100. GET /v1/account/usage returns them all.')}</p>
      )}
    </>
  );
}

function PartLine({ by, part, most }: { by: By; part: Part; most: number }) {
  return (
    <tr>
      <th scope="row" class="part-name">
        <span dir="auto">{nameOf(part, by)}</span>
        <span class="share" style={{ inlineSize: `${(100 * part.seconds) / most}%` }} />
      </th>
      <td class="is-number">{formatHours(part.seconds)}</td>
      <td class="is-number">{part.recordings.toLocaleString(locale.value)}</td>
      <td class="is-number">{part.failed.toLocaleString(locale.value)}</td>
      <td class="is-number">{formatBytes(part.bytes)}</td>
    </tr>
  );
}

function nameOf({ id, name, isRevoked }: Part, by: By): string {
  if (id === null) return by === 'key' ? t('Unknown key') : t('No end user');
  return isRevoked ? t('{name} (revoked)', { name }) : name;
}
