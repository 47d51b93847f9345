import { Field } from '../../../components/field';
import type { LogQuery } from './log-query';

interface Props {
  query: LogQuery;
  onChange: (part: Partial<LogQuery>) => void;
}

export function DeliveryFilters({ query, onChange }: Props) {
  return (
    <div class="delivery-filters" role="group" aria-label="Filter deliveries">
      <Field label="Status">
        <select
          value={query.status}
          onChange={(event) => onChange({ status: event.currentTarget.value as LogQuery['status'] })}
        >
          <option value="">All</option>
          <option value="pending">Pending</option>
          <option value="delivered">Delivered</option>
          <option value="failed">Failed</option>
        </select>
      </Field>
      <Field label="From (UTC)">
        <input
          type="date"
          value={query.from}
          max={query.to || undefined}
          onChange={(event) => onChange({ from: event.currentTarget.value })}
        />
      </Field>
      <Field label="To (UTC)">
        <input
          type="date"
          value={query.to}
          min={query.from || undefined}
          onChange={(event) => onChange({ to: event.currentTarget.value })}
        />
      </Field>
    </div>
  );
}
