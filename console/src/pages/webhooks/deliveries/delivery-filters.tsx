import { Field } from '../../../components/field';
import { t } from '../../../language/texts';
import type { LogQuery } from './log-query';

interface Props {
  query: LogQuery;
  onChange: (part: Partial<LogQuery>) => void;
}

export function DeliveryFilters({ query, onChange }: Props) {
  return (
    <div class="delivery-filters" role="group" aria-label={t('Filter deliveries')}>
      <Field label={t('Status')}>
        <select
          value={query.status}
          onChange={(event) => onChange({ status: event.currentTarget.value as LogQuery['status'] })}
        >
          <option value="">{t('All')}</option>
          <option value="pending">{t('Pending')}</option>
          <option value="delivered">{t('Delivered')}</option>
          <option value="failed">{t('Failed')}</option>
        </select>
      </Field>
      <Field label={t('From (UTC)')}>
        <input
          type="date"
          value={query.from}
          max={query.to || undefined}
          onChange={(event) => onChange({ from: event.currentTarget.value })}
        />
      </Field>
      <Field label={t('To (UTC)')}>
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
