import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';

import { Icon } from '../../../components/icon';
import { formatLocalDay } from '../../../format/date';
import { t, type Text } from '../../../language/texts';
import { FilterDialog } from './filter-dialog';
import type { ListQuery, Status } from '../list-query';
import './filters.css';

const STATUSES: [Status | '', Text][] = [
  ['', 'All'],
  ['processing', 'Processing'],
  ['transcribed', 'Transcribed'],
  ['failed', 'Failed'],
];

interface FiltersProps {
  query: ListQuery;
  onChange: (fields: Partial<ListQuery>) => void;
}

export function Filters({ query, onChange }: FiltersProps) {
  const open = useSignal(false);
  const opener = useRef<HTMLButtonElement>(null);
  const chips = chipsOf(query);
  return (
    <>
      <div class="segmented status-filter" role="group" aria-label={t('Status')}>
        {STATUSES.map(([status, label]) => (
          <button
            key={status}
            type="button"
            aria-pressed={query.status === status}
            onClick={() => onChange({ status })}
          >
            {t(label)}
          </button>
        ))}
      </div>
      <button ref={opener} type="button" class="button" aria-haspopup="dialog" onClick={() => (open.value = true)}>
        <Icon name="filter" />
        {t('Filter')}
        {chips.length > 0 && <span class="filter-count">{chips.length}</span>}
      </button>
      {chips.length > 0 && <Chips chips={chips} onChange={onChange} />}
      <FilterDialog
        key={String(open.value)}
        open={open.value}
        opener={opener}
        query={query}
        onClose={() => (open.value = false)}
        onApply={(fields) => {
          open.value = false;
          onChange(fields);
        }}
      />
    </>
  );
}

function Chips({ chips, onChange }: { chips: readonly Chip[]; onChange: FiltersProps['onChange'] }) {
  return (
    <ul class="filter-chips" aria-label={t('Active filters')}>
      {chips.map(({ label, without }) => (
        <li key={label}>
          <button
            type="button"
            class="chip"
            aria-label={t('Remove filter {label}', { label })}
            onClick={() => onChange(without)}
          >
            <bdi>{label}</bdi>
            <Icon name="close" size={14} />
          </button>
        </li>
      ))}
    </ul>
  );
}

interface Chip {
  label: string;
  without: Partial<ListQuery>;
}

function dayChips(from: string, to: string): Chip[] {
  if (from !== '' && from === to)
    return [{ label: t('On {day}', { day: formatLocalDay(from) }), without: { from: '', to: '' } }];
  return [
    ...(from ? [{ label: t('From {day}', { day: formatLocalDay(from) }), without: { from: '' } }] : []),
    ...(to ? [{ label: t('To {day}', { day: formatLocalDay(to) }), without: { to: '' } }] : []),
  ];
}

function chipsOf({ from, to, user, tags }: ListQuery): Chip[] {
  return [
    ...dayChips(from, to),
    ...(user ? [{ label: t('End user {user}', { user }), without: { user: '' } }] : []),
    ...tags.map(([key, value], i) => ({
      label: `${key}: ${value}`,
      without: { tags: tags.filter((_, other) => other !== i) },
    })),
  ];
}
