import { useSignal } from '@preact/signals';
import type { Webhook } from 'vnotes';
import { useSearchParams } from 'wouter-preact';

import { Empty } from '../../../components/empty';
import { Failed } from '../../../components/failed';
import { Loading } from '../../../components/loading';
import { Pager } from '../../../components/pager/pager';
import { type Async, useAsync } from '../../../hooks/use-async';
import { useShortcut } from '../../../hooks/use-shortcut';
import { t } from '../../../language/texts';
import { DeliveryFilters } from './delivery-filters';
import { DeliveryRow } from './delivery-row';
import { LogActions } from './log-actions';
import { isFiltered, loadLog, type Log, type LogQuery, PAGE_SIZE, readLogQuery, writeLogQuery } from './log-query';
import { RedeliverRange } from './redeliver-range';
import { useFollow } from './use-follow';
import './deliveries.css';

const NO_FILTERS = { status: '', from: '', to: '' } as const;

/** What was sent to one webhook, and what came back. */
export function DeliveryLog({ webhook }: { webhook: Webhook }) {
  const [search, setSearch] = useSearchParams();
  const query = readLogQuery(search);
  const change = (part: Partial<LogQuery>) => setSearch(writeLogQuery({ ...query, page: 0, ...part }));
  const redelivering = useSignal(false);
  const log = useAsync((signal) => loadLog(webhook.id, query, signal), [webhook.id, writeLogQuery(query).toString()]);
  useFollow(log.value?.deliveries, log.reload);
  useShortcut('r', t('Refresh the deliveries'), log.reload);
  return (
    <section class="card" aria-labelledby="deliveries-title">
      <header class="card-header">
        <h2 id="deliveries-title">{t('Deliveries')}</h2>
        <LogActions isBusy={log.loading} onRefresh={log.reload} onRedeliver={() => (redelivering.value = true)} />
      </header>
      <DeliveryFilters query={query} onChange={change} />
      {log.value?.total === 0 && !log.error && <NoDeliveries query={query} onClear={() => change(NO_FILTERS)} />}
      <Rows log={log} webhook={webhook} page={query.page} onPage={(page) => change({ page })} />
      <RedeliverRange
        webhook={webhook}
        open={redelivering.value}
        onClose={() => (redelivering.value = false)}
        onSent={log.reload}
      />
    </section>
  );
}

interface RowsProps {
  log: Async<Log>;
  webhook: Webhook;
  page: number;
  onPage: (page: number) => void;
}

function Rows({ log, webhook, page, onPage }: RowsProps) {
  if (log.error) return <Failed error={log.error} onRetry={log.reload} />;
  if (!log.value) return <Loading label={t('Loading deliveries…')} />;
  const { deliveries, total } = log.value;
  if (total === 0) return null;
  return (
    <>
      <ul class="delivery-rows" aria-busy={log.loading}>
        {deliveries.map((delivery) => (
          <DeliveryRow key={delivery.id} delivery={delivery} webhook={webhook} onRedelivered={log.reload} />
        ))}
      </ul>
      <div class="card-body">
        <Pager page={page} total={total} pageSize={PAGE_SIZE} onPage={onPage} />
      </div>
    </>
  );
}

function NoDeliveries({ query, onClear }: { query: LogQuery; onClear: () => void }) {
  if (!isFiltered(query)) {
    return (
      <Empty
        icon="webhook"
        title={t('No deliveries yet')}
        hint={t(
          'Deliveries appear here when a recording is done. Test requests are not logged: their result is shown above.',
        )}
      />
    );
  }
  return (
    <Empty
      icon="filter"
      title={t('No matching deliveries')}
      hint={t('Try another status or other days.')}
      action={
        <button type="button" class="button" onClick={onClear}>
          {t('Clear filters')}
        </button>
      }
    />
  );
}
