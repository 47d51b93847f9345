import { useRef, useState } from 'preact/hooks';
import type { Recording } from 'vnotes';

export interface Selection {
  /** Those that are selected, in the order of the list. */
  selected: readonly Recording[];
  /** Also those of other pages. */
  isGathered: boolean;
  has: (id: string) => boolean;
  /** @param isRange also all between this one and the one before it, as with the shift key */
  toggle: (id: string, isRange: boolean) => void;
  /** All of the page, or none. */
  toggleAll: () => void;
  /** All that match, which the caller has listed. */
  selectAll: (all: readonly Recording[]) => void;
  clear: () => void;
}

interface State {
  /** What the list is narrowed to: what was selected before is not any more. */
  filter: string;
  ids: ReadonlySet<string>;
  /** All that match, when they were selected. */
  gathered: readonly Recording[];
}

/** @param filter tells one list from another, whatever the page */
export function useSelection(recordings: readonly Recording[], filter: string): Selection {
  const none: State = { filter, ids: new Set(), gathered: [] };
  const [state, setState] = useState(none);
  const { ids, gathered } = state.filter === filter ? state : none;
  const anchor = useRef<string | null>(null);
  const selected = merged(gathered, recordings).filter(({ id }) => ids.has(id));
  const isPage = recordings.every(({ id }) => ids.has(id));
  const toggle = (id: string, isRange: boolean) => {
    const changed = isRange ? between(recordings, anchor.current ?? id, id) : [id];
    anchor.current = id;
    setState({ filter, ids: changedBy(ids, changed, !ids.has(id)), gathered });
  };
  const toggleAll = () => setState(isPage ? none : { filter, ids: changedBy(ids, idsOf(recordings), true), gathered });
  const selectAll = (all: readonly Recording[]) => setState({ filter, ids: new Set(idsOf(all)), gathered: all });
  return {
    selected,
    isGathered: gathered.length > 0,
    has: (id) => ids.has(id),
    toggle,
    toggleAll,
    selectAll,
    clear: () => setState(none),
  };
}

/** Those of the page are newer than what was gathered. */
function merged(gathered: readonly Recording[], shown: readonly Recording[]): readonly Recording[] {
  if (gathered.length === 0) return shown;
  const newest = new Map(shown.map((recording) => [recording.id, recording]));
  const known = new Set(idsOf(gathered));
  return [...shown.filter(({ id }) => !known.has(id)), ...gathered.map((one) => newest.get(one.id) ?? one)];
}

function changedBy(ids: ReadonlySet<string>, changed: readonly string[], isOn: boolean): ReadonlySet<string> {
  const next = new Set(ids);
  for (const id of changed) {
    if (isOn) next.add(id);
    else next.delete(id);
  }
  return next;
}

const idsOf = (recordings: readonly Recording[]): string[] => recordings.map(({ id }) => id);

function between(recordings: readonly Recording[], one: string, other: string): string[] {
  const places = [one, other].map((id) => recordings.findIndex((recording) => recording.id === id));
  const [first, last] = [Math.min(...places), Math.max(...places)];
  return first < 0 ? [other] : idsOf(recordings.slice(first, last + 1));
}
