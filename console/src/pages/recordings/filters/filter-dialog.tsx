import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';

import { Dialog } from '../../../components/dialog';
import { Field } from '../../../components/field';
import { beginningOf, localDay } from '../../../format/local-day';
import { t, type Text } from '../../../language/texts';
import type { ListQuery } from '../list-query';
import { seenLabels } from '../seen-labels';
import { readTags, TagsField, wrongTag } from '../tags-field';

interface FilterDialogProps {
  open: boolean;
  opener: RefObject<HTMLElement | null>;
  query: ListQuery;
  onClose: () => void;
  onApply: (fields: Partial<ListQuery>) => void;
}

/** The filters that are used less often than the status. */
export function FilterDialog({ open, opener, query, onClose, onApply }: FilterDialogProps) {
  const error = useSignal<{ field: 'to' | 'tags'; text: string } | null>(null);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => (form.get(name) as string).trim();
    const { tags, wrong } = readTags(text('tags'));
    const [from, to] = [text('from'), text('to')];
    if (from && to && from > to) error.value = { field: 'to', text: t('The end date is before the start date.') };
    else if (wrong) error.value = { field: 'tags', text: wrongTag(wrong) };
    else onApply({ from, to, user: text('user'), tags });
  };
  const errorOf = (field: string) => (error.value?.field === field ? error.value.text : undefined);
  return (
    <Dialog open={open} title={t('Filter')} onClose={onClose} opener={opener}>
      <form class="form" onSubmit={submit} noValidate>
        <DayFields query={query} error={errorOf('to')} />
        <Field label={t('End user')} hint={t('The identity in the access token.')}>
          <input
            name="user"
            list="filter-users"
            defaultValue={query.user}
            maxLength={255}
            dir="auto"
            autocomplete="off"
          />
        </Field>
        <datalist id="filter-users">
          {[...seenLabels().users].toReversed().map((user) => (
            <option key={user} value={user} />
          ))}
        </datalist>
        <TagsField
          hint={t('One per line, such as ticket=T-1042. Recordings must have all of them.')}
          error={errorOf('tags')}
          tags={query.tags}
        />
        <div class="form-actions">
          <button
            type="button"
            class="button is-quiet"
            onClick={() => onApply({ from: '', to: '', user: '', tags: [] })}
          >
            {t('Clear all')}
          </button>
          <button type="submit" class="button is-primary">
            {t('Apply')}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function DayFields({ query, error }: { query: ListQuery; error: string | undefined }) {
  const range = useSignal({ from: query.from, to: query.to });
  return (
    <>
      <div class="day-fields">
        <Field label={t('From')}>
          <input
            name="from"
            type="date"
            value={range.value.from}
            onInput={(event) => (range.value = { ...range.value, from: event.currentTarget.value })}
          />
        </Field>
        <Field label={t('To')} error={error}>
          <input
            name="to"
            type="date"
            value={range.value.to}
            onInput={(event) => (range.value = { ...range.value, to: event.currentTarget.value })}
          />
        </Field>
      </div>
      <ul class="tag-suggestions" aria-label={t('Suggested days')}>
        {suggestedDays().map(({ label, from, to }) => (
          <li key={label}>
            <button
              type="button"
              class="row-tag"
              aria-pressed={range.value.from === from && range.value.to === to}
              onClick={() => (range.value = { from, to })}
            >
              {t(label)}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function suggestedDays(): { label: Text; from: string; to: string }[] {
  const today = localDay(new Date());
  const [yesterday, weekAgo] = [-1, -6].map((days) => localDay(beginningOf(today, days))) as [string, string];
  return [
    { label: 'Today', from: today, to: today },
    { label: 'Yesterday', from: yesterday, to: yesterday },
    { label: 'Last 7 days', from: weekAgo, to: today },
    { label: 'This month', from: `${today.slice(0, 8)}01`, to: today },
  ];
}
