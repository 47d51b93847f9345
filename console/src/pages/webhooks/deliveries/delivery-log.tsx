import { useSignal } from '@preact/signals';
import type { Webhook } from 'vnotes';

import { Empty } from '../../../components/empty';
import { Failed } from '../../../components/failed';
import { Loading } from '../../../components/loading';
import { Pager } from '../../../components/pager';
import { type Async, useAsync } from '../../../hooks/use-async';
import { useShortcut } from '../../../hooks/use-shortcut';
import { api } from '../../../session/api';
import { DeliveryFilters, type Filters } from './delivery-filters';
import { DeliveryRow } from './delivery-row';
import { LogActions } from './log-actions';
import { RedeliverRange } from './redeliver-range';
import { useFollow } from './use-follow';
import './deliveries.css';

const PAGE_SIZE = 20;
const NO_FILTERS: Filters = { status: '', from: '', to: '' };

type Log = Awaited<ReturnType<typeof loadLog>>;

/** What was sent to one webhook, and what came back. */
export function DeliveryLog({ webhook }: { webhook: Webhook }) {
  const filters = useSignal(NO_FILTERS);
  const page = useSignal(0);
  const follows = useSignal(false);
  const redelivering = useSignal(false);
  const log = useAsync(
    (signal) => loadLog(webhook.id, page.value, filters.value, signal),
    [webhook.id, page.value, filters.value],
  );
  useFollow(follows.value, log.reload);
  useShortcut('r', 'Load the deliveries again', log.reload);
  const filter = (next: Filters) => {
    page.value = 0;
    filters.value = next;
  };
  const isFiltered = Object.values(filters.value).some((value) => value !== '');
  return (
    <section class="card" aria-labelledby="deliveries-title">
      <header class="card-header">
        <h2 id="deliveries-title">Deliveries</h2>
        <LogActions
          follows={follows}
          isBusy={log.loading}
          onRefresh={log.reload}
          onRedeliver={() => (redelivering.value = true)}
        />
      </header>
      <DeliveryFilters filters={filters.value} onChange={filter} />
      {log.value?.total === 0 && !log.error && (
        <NoDeliveries isFiltered={isFiltered} onClear={() => filter(NO_FILTERS)} />
      )}
      <Rows log={log} webhook={webhook} page={page.value} onPage={(next) => (page.value = next)} />
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
  if (!log.value) return <Loading label="Loading the deliveries…" />;
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

function NoDeliveries({ isFiltered, onClear }: { isFiltered: boolean; onClear: () => void }) {
  if (!isFiltered) {
    return (
      <Empty
        icon="webhook"
        title="Nothing was sent yet"
        hint="A delivery appears when a recording is done. A test is not in this log: its outcome is shown above."
      />
    );
  }
  return (
    <Empty
      icon="filter"
      title="No delivery matches"
      hint="No delivery has this status in these days."
      action={
        <button type="button" class="button" onClick={onClear}>
          Clear the filters
        </button>
      }
    />
  );
}

function loadLog(id: string, page: number, { status, from, to }: Filters, signal: AbortSignal) {
  const range = { ...(from && { date_from: from }), ...(to && { date_to: to }) };
  const query = { page, limit: PAGE_SIZE, ...(status && { status }), ...range };
  return api().webhooks.deliveries(id, query, { signal });
}
