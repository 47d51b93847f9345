import { useSignal } from '@preact/signals';

import { Dialog } from '../../../components/dialog';
import { Field } from '../../../components/field';
import { type ListQuery, tagOf } from '../list-query';
import { seenLabels } from '../seen-labels';

const MAX_SUGGESTED = 12;

interface FilterDialogProps {
  open: boolean;
  query: ListQuery;
  onClose: () => void;
  onApply: (fields: Partial<ListQuery>) => void;
}

/** The filters that are used less often than the status. */
export function FilterDialog({ open, query, onClose, onApply }: FilterDialogProps) {
  const tags = useSignal(textOf(query.tags));
  const error = useSignal<{ field: 'to' | 'tags'; text: string } | null>(null);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => (form.get(name) as string).trim();
    const lines = text('tags')
      .split('\n')
      .filter((line) => line.trim() !== '');
    const wrong = lines.find((line) => !tagOf(line));
    const [from, to] = [text('from'), text('to')];
    if (from && to && from > to) error.value = { field: 'to', text: 'The end date is before the start date.' };
    else if (wrong) error.value = { field: 'tags', text: `Write a tag as key=value, not “${wrong}”.` };
    else onApply({ from, to, user: text('user'), tags: lines.map((line) => tagOf(line) as [string, string]) });
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
        <Field
          label="Tags"
          hint="One per line, such as ticket=T-1042. Recordings must have all of them."
          error={errorOf('tags')}
        >
          <textarea
            name="tags"
            rows={3}
            dir="auto"
            value={tags.value}
            onInput={(event) => (tags.value = event.currentTarget.value)}
          />
        </Field>
        <TagSuggestions text={tags.value} onChange={(text) => (tags.value = text)} />
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

/** Tags that occur, but for those that are asked for. A key has one value only. */
function TagSuggestions({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const suggested = [...seenLabels().tags].toReversed().filter((tag) => !lines.includes(tag));
  if (suggested.length === 0) return null;
  const add = (tag: string, key: string) =>
    onChange([...lines.filter((line) => tagOf(line)?.[0] !== key), tag].join('\n'));
  return (
    <ul class="tag-suggestions" aria-label="Suggested tags">
      {suggested.slice(0, MAX_SUGGESTED).map((tag) => {
        const [key, value] = tagOf(tag) ?? [tag, ''];
        return (
          <li key={tag}>
            <button type="button" class="row-tag" onClick={() => add(tag, key)}>
              <bdi class="muted">{key}</bdi>
              <bdi>{value}</bdi>
            </button>
          </li>
        );
      })}
    </ul>
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

const textOf = (tags: ListQuery['tags']): string => tags.map(([key, value]) => `${key}=${value}`).join('\n');
