import { useSignal } from '@preact/signals';

import { Empty } from '../../components/empty';
import { Failed } from '../../components/failed';
import { Icon } from '../../components/icon';
import { Loading } from '../../components/loading';
import { Segments } from '../../forms/segments';
import { type Async, useAsync } from '../../hooks/use-async';
import { t, type Text } from '../../language/texts';
import { PageHeader } from '../../layout/page-header';
import { api } from '../../session/api';
import type { RequestErrors } from './error-advice';
import { ErrorGroup } from './error-group';
import './errors.css';

const MOST = 200;
const PERIODS = [
  { value: '1', label: 'Today' },
  { value: '7', label: '7 days' },
] as const satisfies readonly { value: string; label: Text }[];

type Period = (typeof PERIODS)[number]['value'];

/** The requests of the account that were refused: grouped, with what to do about each kind. */
export default function ErrorsPage() {
  const days = useSignal<Period>('7');
  const errors = useAsync(
    (signal) => api().account.errors({ days: Number(days.value), limit: MOST }, { signal }),
    [days.value],
  );
  return (
    <div class="stack">
      <PageHeader
        title={t('Errors')}
        hint={t('Rejected and failed requests of this account, grouped by kind. The most recent come first.')}
        actions={
          <>
            <Segments
              label={t('Period (UTC)')}
              options={PERIODS.map(({ value, label }) => ({ value, label: t(label) }))}
              value={days.value}
              onChange={(next) => (days.value = next)}
            />
            <button type="button" class="button" disabled={errors.loading} onClick={errors.reload}>
              <Icon name="retry" />
              {t('Refresh')}
            </button>
          </>
        }
      />
      <Groups errors={errors} />
    </div>
  );
}

function Groups({ errors }: { errors: Async<RequestErrors> }) {
  if (errors.error) return <Failed error={errors.error} onRetry={errors.reload} />;
  if (!errors.value) return <Loading label={t('Loading errors…')} />;
  const groups = errors.value.errors;
  if (groups.length === 0) {
    return (
      <Empty
        icon="check"
        title={t('No errors')}
        hint={t(
          'Requests that the service refuses appear here about a second later. Those without valid credentials belong to no account, and are not here.',
        )}
      />
    );
  }
  return (
    <ul class="card error-groups">
      {groups.map((group) => (
        <ErrorGroup key={`${group.operation} ${group.status} ${group.code} ${group.field ?? ''}`} group={group} />
      ))}
    </ul>
  );
}
