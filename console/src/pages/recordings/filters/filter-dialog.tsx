import { useSignal } from '@preact/signals';

import { Dialog } from '../../../components/dialog';
import { Field } from '../../../components/field';
import type { ListQuery } from '../list-query';
import { seenLabels } from '../seen-labels';
import { readTags, TagsField, wrongTag } from '../tags-field';

interface FilterDialogProps {
  open: boolean;
  query: ListQuery;
  onClose: () => void;
  onApply: (fields: Partial<ListQuery>) => void;
}

/** The filters that are used less often than the status. */
export function FilterDialog({ open, query, onClose, onApply }: FilterDialogProps) {
  const error = useSignal<{ field: 'to' | 'tags'; text: string } | null>(null);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => (form.get(name) as string).trim();
    const { tags, wrong } = readTags(text('tags'));
    const [from, to] = [text('from'), text('to')];
    if (from && to && from > to) error.value = { field: 'to', text: 'The end date is before the start date.' };
    else if (wrong) error.value = { field: 'tags', text: wrongTag(wrong) };
    else onApply({ from, to, user: text('user'), tags });
  };
  const errorOf = (field: string) => (error.value?.field === field ? error.value.text : undefined);
  return (
    <Dialog open={open} title="Filter" onClose={onClose}>
      <form class="form" onSubmit={submit} noValidate>
        <DayFields query={query} error={errorOf('to')} />
        <Field label="End user" hint="The identity in the access token.">
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
          hint="One per line, such as ticket=T-1042. Recordings must have all of them."
          error={errorOf('tags')}
          tags={query.tags}
        />
        <div class="form-actions">
          <button
            type="button"
            class="button is-quiet"
            onClick={() => onApply({ from: '', to: '', user: '', tags: [] })}
          >
            Clear all
          </button>
          <button type="submit" class="button is-primary">
            Apply
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function DayFields({ query, error }: { query: ListQuery; error: string | undefined }) {
  return (
    <div class="day-fields">
      <Field label="From" hint="Days in UTC">
        <input name="from" type="date" defaultValue={query.from} />
      </Field>
      <Field label="To" error={error}>
        <input name="to" type="date" defaultValue={query.to} />
      </Field>
    </div>
  );
}
