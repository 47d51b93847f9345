import type { Delivery } from 'vnotes';

import { Field } from '../../../components/field';

export interface Filters {
  status: Delivery['status'] | '';
  /** Days in UTC, as a date input has them; empty for no bound. */
  from: string;
  to: string;
}

interface Props {
  filters: Filters;
  onChange: (filters: Filters) => void;
}

export function DeliveryFilters({ filters, onChange }: Props) {
  const change = (part: Partial<Filters>) => onChange({ ...filters, ...part });
  return (
    <div class="delivery-filters" role="group" aria-label="Filter the deliveries">
      <Field label="Status">
        <select
          value={filters.status}
          onChange={(event) => change({ status: event.currentTarget.value as Filters['status'] })}
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
          value={filters.from}
          max={filters.to || undefined}
          onChange={(event) => change({ from: event.currentTarget.value })}
        />
      </Field>
      <Field label="To (UTC)">
        <input
          type="date"
          value={filters.to}
          min={filters.from || undefined}
          onChange={(event) => change({ to: event.currentTarget.value })}
        />
      </Field>
    </div>
  );
}
