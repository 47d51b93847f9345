import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

export interface Shortcut {
  /** As `KeyboardEvent.key` names it: `/`, `?`, `ArrowLeft`, ` `. */
  key: string;
  /** What it does, for the list of all keys. */
  label: string;
}

interface Registration extends Shortcut {
  run: (event: KeyboardEvent) => void;
}

/** The keys of the pages and parts that are on the screen; the latest of the same key wins. */
export const shortcuts = signal<readonly Registration[]>([]);

/**
 * `handler` runs when the key is pressed, unless the person is typing or a dialog is open.
 * @param isGlobal of the layout: a page may have the same key for something of its own
 */
export function useShortcut(
  key: string,
  label: string,
  handler: (event: KeyboardEvent) => void,
  { isGlobal = false }: { isGlobal?: boolean } = {},
): void {
  const latest = useRef(handler);
  latest.current = handler;
  useEffect(() => {
    const registration = { key, label, run: (event: KeyboardEvent) => latest.current(event) };
    shortcuts.value = isGlobal ? [registration, ...shortcuts.value] : [...shortcuts.value, registration];
    return () => {
      shortcuts.value = shortcuts.value.filter((other) => other !== registration);
    };
  }, [key, label, isGlobal]);
}

/** Begins to listen; once for the whole page. */
export function listenForShortcuts(): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return;
    const registration = shortcuts.value.findLast(({ key }) => key.toLowerCase() === event.key.toLowerCase());
    if (!registration) return;
    event.preventDefault();
    registration.run(event);
  });
}

/** Whether the key belongs to what has the focus: text that is typed, or the space that presses a button. */
function isTaken({ key, target }: KeyboardEvent): boolean {
  if (document.querySelector('dialog[open]')) return true;
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.closest('textarea, select')) return true;
  const input = target.closest('input');
  if (input && !['checkbox', 'radio', 'button', 'range'].includes(input.type)) return true;
  if (input?.type === 'range') return key.startsWith('Arrow');
  return (key === ' ' || key === 'Enter') && target.closest('a, button, summary, input') !== null;
}
