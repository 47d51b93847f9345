import type { RefObject } from 'preact';
import type { Recording } from 'vnotes';

import { useShortcut } from '../../hooks/use-shortcut';
import { t } from '../../language/texts';
import type { Selection } from './selection/use-selection';

type ListRef = RefObject<HTMLUListElement | null>;

/** The keys that move the focus through the list. */
export function RowKeys({ list }: { list: ListRef }) {
  useShortcut('j', t('Next recording'), () => move(list, 1));
  useShortcut('k', t('Previous recording'), () => move(list, -1));
  // A link that has the focus is opened by the browser.
  useShortcut('Enter', t('Open the recording'), () => titleOf(focusedRow(list))?.click());
  return null;
}

interface SelectionKeysProps {
  list: ListRef;
  recordings: readonly Recording[];
  selection: Selection;
}

export function SelectionKeys({ list, recordings, selection }: SelectionKeysProps) {
  useShortcut('x', t('Select the recording'), ({ shiftKey }) => {
    const recording = recordings[rowsOf(list).findIndex((row) => row === focusedRow(list))];
    if (recording) selection.toggle(recording.id, shiftKey);
  });
  return null;
}

/** Without a row that has the focus, to the first one that is in sight. */
function move(list: ListRef, step: 1 | -1): void {
  const rows = rowsOf(list);
  const focused = rows.findIndex((row) => row === focusedRow(list));
  const row = focused < 0 ? rows.find(isInSight) : rows[focused + step];
  const title = titleOf(row);
  title?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: 'nearest' });
}

const rowsOf = (list: ListRef): Element[] => [...(list.current?.querySelectorAll('.recording-row') ?? [])];

const focusedRow = (list: ListRef): Element | undefined =>
  rowsOf(list).find((row) => row.contains(document.activeElement));

const titleOf = (row: Element | undefined): HTMLElement | null => row?.querySelector<HTMLElement>('.row-title') ?? null;

const isInSight = (row: Element): boolean => row.getBoundingClientRect().top >= 0;
