import { formatBytes } from '../../format/bytes';
import { locale } from '../../language/language';
import { t } from '../../language/texts';
import { formatHours } from './format-hours';
import type { Account } from '../../session/account';

/** What the present month has so far, beside the whole month before. */
export function MonthTotals({ usage }: Pick<Account, 'usage'>) {
  const [now, before] = [usage.current_month, usage.previous_month];
  return (
    <section class="card" aria-labelledby="months-title">
      <header class="card-header">
        <h2 id="months-title">{t('Months')}</h2>
      </header>
      <table class="table">
        <thead>
          <tr>
            <td />
            <th scope="col" class="is-number">
              {t('This month')}
            </th>
            <th scope="col" class="is-number">
              {t('Last month')}
            </th>
          </tr>
        </thead>
        <tbody>
          <Line label={t('Recordings')} now={count(now.recordings_count)} before={count(before.recordings_count)} />
          <Line
            label={t('Audio')}
            now={formatHours(now.total_duration_seconds)}
            before={formatHours(before.total_duration_seconds)}
          />
          <Line
            label={t('Stored')}
            now={formatBytes(now.storage_used_bytes)}
            before={formatBytes(before.storage_used_bytes)}
          />
        </tbody>
      </table>
    </section>
  );
}

function Line({ label, now, before }: { label: string; now: string; before: string }) {
  return (
    <tr>
      <th scope="row">{label}</th>
      <td class="is-number">{now}</td>
      <td class="is-number muted">{before}</td>
    </tr>
  );
}

function count(n: number): string {
  return n.toLocaleString(locale.value);
}
