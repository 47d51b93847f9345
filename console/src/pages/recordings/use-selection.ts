import { useRef, useState } from 'preact/hooks';
import type { Recording } from 'vnotes';

export interface Selection {
  /** Those of the page that are selected, in its order. */
  selected: readonly Recording[];
  has: (id: string) => boolean;
  /** @param isRange also all between this one and the one before it, as with the shift key */
  toggle: (id: string, isRange: boolean) => void;
  /** All of the page, or none. */
  toggleAll: () => void;
  clear: () => void;
}

export function useSelection(recordings: readonly Recording[]): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const anchor = useRef<string | null>(null);
  const selected = recordings.filter(({ id }) => ids.has(id));
  const toggle = (id: string, isRange: boolean) => {
    const changed = isRange ? between(recordings, anchor.current ?? id, id) : [id];
    const isOn = !ids.has(id);
    const next = new Set(ids);
    for (const one of changed) {
      if (isOn) next.add(one);
      else next.delete(one);
    }
    anchor.current = id;
    setIds(next);
  };
  const toggleAll = () =>
    setIds(selected.length === recordings.length ? new Set() : new Set(recordings.map(({ id }) => id)));
  return { selected, has: (id) => ids.has(id), toggle, toggleAll, clear: () => setIds(new Set()) };
}

function between(recordings: readonly Recording[], one: string, other: string): string[] {
  const places = [one, other].map((id) => recordings.findIndex((recording) => recording.id === id));
  const [first, last] = [Math.min(...places), Math.max(...places)];
  return first < 0 ? [other] : recordings.slice(first, last + 1).map(({ id }) => id);
}
