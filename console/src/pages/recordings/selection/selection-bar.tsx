import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import type { Recording } from 'vnotes';

import { deleteWithUndo } from '../../../bulk/deletions';
import { Icon, type IconName } from '../../../components/icon';
import { toast } from '../../../components/toast';
import { titleOf } from '../../../format/recording-title';
import { rich, t } from '../../../language/texts';
import { may } from '../../../session/permissions';
import { isExact, type ListQuery } from '../list-query';
import { ListOrder } from '../list-order';
import type { Recordings } from '../use-recordings';
import { gather } from './gather';
import type { SelectionDialog, SelectionDialogName } from './selection-dialogs';
import { retryMany } from './transcribe-many';
import type { Selection } from './use-selection';

interface SelectionBarProps {
  query: ListQuery;
  total: number;
  page: NonNullable<Recordings['page']>;
  /** Those of the page. */
  shown: readonly Recording[];
  selection: Selection;
  onChange: (fields: Partial<ListQuery>) => void;
  reload: () => void;
}

/** The head of the list: how many there are, or what can be done with those that are selected. */
export function SelectionBar({ query, total, page, shown, selection, onChange, reload }: SelectionBarProps) {
  const count = selection.selected.length;
  const onPage = shown.filter(({ id }) => selection.has(id)).length;
  const totals = TOTALS[query.q === '' ? 'recordings' : 'results'][isExact(page) ? 'exact' : 'atLeast'];
  const all = t(totals.all, { total });
  return (
    <>
      <div class="list-head">
        {may('recordings:write') && (
          <label class="row-check">
            <input
              type="checkbox"
              aria-label={t('Select all on this page')}
              checked={onPage > 0 && onPage === shown.length}
              indeterminate={onPage > 0 && onPage < shown.length}
              onChange={selection.toggleAll}
            />
          </label>
        )}
        {count > 0 ? (
          <SelectionActions selection={selection} shown={shown} reload={reload} />
        ) : (
          <>
            <p class="list-total numbers muted">{all}</p>
            <ListOrder query={query} onChange={onChange} />
          </>
        )}
        <p class="visually-hidden" role="status">
          {count > 0 ? t('{count, number} selected', { count }) : all}
        </p>
      </div>
      {onPage === shown.length && total > shown.length && (
        <SelectAll query={query} total={total} label={t(totals.select, { total })} selection={selection} />
      )}
    </>
  );
}

const TOTALS = {
  recordings: {
    exact: {
      all: '{total, plural, one {# recording} other {# recordings}}',
      select: 'Select all {total, number} recordings',
    },
    atLeast: { all: '{total, number}+ recordings', select: 'Select all {total, number}+ recordings' },
  },
  results: {
    exact: { all: '{total, plural, one {# result} other {# results}}', select: 'Select all {total, number} results' },
    atLeast: { all: '{total, number}+ results', select: 'Select all {total, number}+ results' },
  },
} as const;

interface SelectAllProps {
  query: ListQuery;
  total: number;
  /** `Select all 120 recordings` */
  label: string;
  selection: Selection;
}

/** When the page is selected and there are others. */
function SelectAll({ query, total, label, selection }: SelectAllProps) {
  const gathering = useSignal(false);
  const selectAll = async () => {
    gathering.value = true;
    const found = await gather(query, total);
    gathering.value = false;
    if (found) selection.selectAll(found);
  };
  if (selection.isGathered) {
    return (
      <p class="select-all">
        {t('{count, number} selected, also on other pages.', { count: selection.selected.length })}
      </p>
    );
  }
  return (
    <p class="select-all">
      {t('All {count, number} on this page are selected.', { count: selection.selected.length })}{' '}
      <button type="button" disabled={gathering.value} onClick={() => void selectAll()}>
        {gathering.value ? t('Selecting…') : label}
      </button>
    </p>
  );
}

interface SelectionActionsProps {
  selection: Selection;
  shown: readonly Recording[];
  reload: () => void;
}

type Dialogs = ComponentType<Parameters<typeof SelectionDialog>[0]>;

function SelectionActions({ selection, shown, reload }: SelectionActionsProps) {
  const { selected, clear } = selection;
  const opened = useSignal<{ Dialog: Dialogs; name: SelectionDialogName } | null>(null);
  const failed = selected.filter(({ status }) => status === 'failed');
  const open = async (name: SelectionDialogName) => {
    try {
      // The code is loaded when it is needed.
      opened.value = { Dialog: (await import('./selection-dialogs')).SelectionDialog, name };
    } catch {
      toast(t('This could not be loaded. You may be offline.'), { tone: 'bad' });
    }
  };
  const begin = (work: Promise<void>) => {
    opened.value = null;
    clear();
    focusHead();
    void work.then(reload);
  };
  const remove = () => {
    // What is not in sight is not deleted by one press.
    const isInSight = selected.every(({ id }) => shown.some((recording) => recording.id === id));
    if (isInSight) deleteShown();
    else void open('delete');
  };
  const deleteShown = () => {
    focusAfter(selected, shown);
    clear();
    deleteWithUndo(
      selected.map(({ id }) => id),
      selected.map(titleOf),
    );
  };
  return (
    <div class="selection-actions">
      <strong class="numbers">
        {rich('{count, number} <word>selected</word>', {
          count: selected.length,
          word: (word) => <span class="selected-word">{word}</span>,
        })}
      </strong>
      {failed.length > 0 && (
        <Action
          icon="retry"
          label={t('Retry {count, number} failed', { count: failed.length })}
          onClick={() => begin(retryMany(failed))}
        />
      )}
      <Action icon="tag" label={t('Tag')} onClick={() => void open('tag')} />
      <Action icon="download" label={t('Export')} onClick={() => void open('export')} />
      <Action icon="waveform" label={t('Transcribe again')} onClick={() => void open('again')} />
      <Action icon="trash" label={t('Delete')} isDanger onClick={remove} />
      <button
        type="button"
        class="button is-quiet is-icon"
        aria-label={t('Clear selection')}
        title={t('Clear selection')}
        onClick={clear}
      >
        <Icon name="close" />
      </button>
      {opened.value && (
        <opened.value.Dialog
          name={opened.value.name}
          recordings={selected}
          onClose={() => (opened.value = null)}
          onBegin={begin}
        />
      )}
    </div>
  );
}

interface ActionProps {
  icon: IconName;
  label: string;
  isDanger?: boolean;
  onClick: () => void;
}

/** Without its words where there is no room for them. */
function Action({ icon, label, isDanger = false, onClick }: ActionProps) {
  return (
    <button
      type="button"
      class={isDanger ? 'button is-quiet is-danger' : 'button is-quiet'}
      title={label}
      onClick={onClick}
    >
      <Icon name={icon} />
      <span class="action-label">{label}</span>
    </button>
  );
}

function focusHead(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>('.list-head input')?.focus());
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
