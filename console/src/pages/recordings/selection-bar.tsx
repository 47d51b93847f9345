import type { Recording } from 'vnotes';

import { deleteWithUndo } from '../../bulk/deletions';
import { Icon } from '../../components/icon';
import { titleOf } from '../../format/recording-title';
import { may } from '../../session/permissions';
import { isExact, type ListQuery } from './list-query';
import { retryMany } from './retry-many';
import type { Recordings } from './use-recordings';
import type { Selection } from './use-selection';

interface SelectionBarProps {
  query: ListQuery;
  total: number;
  page: NonNullable<Recordings['page']>;
  selection: Selection;
  onChange: (fields: Partial<ListQuery>) => void;
  reload: () => void;
}

/** The head of the list: how many there are, or what can be done with those that are selected. */
export function SelectionBar({ query, total, page, selection, onChange, reload }: SelectionBarProps) {
  const count = selection.selected.length;
  return (
    <div class="list-head">
      {may('recordings:write') && (
        <label class="row-check">
          <input
            type="checkbox"
            aria-label="Select all on this page"
            checked={count > 0 && count === page.recordings.length}
            indeterminate={count > 0 && count < page.recordings.length}
            onChange={selection.toggleAll}
          />
        </label>
      )}
      {count > 0 ? (
        <SelectionActions selection={selection} shown={page.recordings} reload={reload} />
      ) : (
        <>
          <p class="list-total numbers muted">{totalText(total, isExact(page), query.q)}</p>
          {query.q !== '' && <OrderSelect query={query} onChange={onChange} />}
        </>
      )}
      <p class="visually-hidden" role="status">
        {count > 0 ? `${count} selected` : totalText(total, isExact(page), query.q)}
      </p>
    </div>
  );
}

function totalText(total: number, isExactTotal: boolean, q: string): string {
  const all = `${total.toLocaleString('en')}${isExactTotal ? '' : '+'}`;
  const noun = q === '' ? 'recording' : 'result';
  return `${all} ${noun}${total === 1 ? '' : 's'}`;
}

interface SelectionActionsProps {
  selection: Selection;
  shown: readonly Recording[];
  reload: () => void;
}

function SelectionActions({ selection, shown, reload }: SelectionActionsProps) {
  const { selected, clear } = selection;
  const failed = selected.filter(({ status }) => status === 'failed');
  const retry = () => {
    clear();
    void retryMany(failed).then(reload);
  };
  const remove = () => {
    focusAfter(selected, shown);
    clear();
    deleteWithUndo(
      selected.map(({ id }) => id),
      selected.map(titleOf),
    );
  };
  return (
    <div class="selection-actions">
      <strong class="numbers">{selected.length} selected</strong>
      {failed.length > 0 && (
        <button type="button" class="button is-quiet" onClick={retry}>
          <Icon name="retry" />
          Retry {failed.length} failed
        </button>
      )}
      <button type="button" class="button is-quiet is-danger" onClick={remove}>
        <Icon name="trash" />
        Delete
      </button>
      <button
        type="button"
        class="button is-quiet is-icon"
        aria-label="Clear selection"
        title="Clear selection"
        onClick={clear}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}

/** On the recording after those that go, else on the one before them; without any the heading has it. */
function focusAfter(gone: readonly Recording[], shown: readonly Recording[]): void {
  const last = shown.findIndex(({ id }) => id === gone.at(-1)?.id);
  const stays = (recording: Recording) => !gone.includes(recording);
  const next = shown.slice(last + 1).find(stays) ?? shown.findLast(stays);
  requestAnimationFrame(() => {
    if (next) document.querySelector<HTMLElement>(`.row-title[href*="${next.id}"]`)?.focus();
  });
}

function OrderSelect({ query, onChange }: Pick<SelectionBarProps, 'query' | 'onChange'>) {
  return (
    <label class="order-select">
      <span class="visually-hidden">Sort by</span>
      <select
        class="input"
        value={query.byRank ? 'rank' : 'newest'}
        onChange={(event) => onChange({ byRank: event.currentTarget.value === 'rank' })}
      >
        <option value="newest">Newest first</option>
        <option value="rank">Best match first</option>
      </select>
    </label>
  );
}
