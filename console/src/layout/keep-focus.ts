const FOCUSABLE =
  'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary';

/**
 * Gives the focus a place when its element goes, as with a row that was deleted: the next control of the same list or
 * group, the last one before it, or the heading of the page. Without it the keyboard would begin at the top again.
 */
export function keepFocus(): void {
  let last: Element | null = null;
  // Somebody who points at something else wants the focus there.
  addEventListener('pointerdown', () => (last = null), { capture: true });
  addEventListener('focusin', ({ target }) => (last = target instanceof Element ? target : null));
  const observer = new MutationObserver((records) => {
    if (last === null || (document.activeElement !== document.body && document.activeElement !== null)) return;
    if (last.isConnected) {
      if (wasEnabled(records, last)) focus(last);
      return;
    }
    const gone = last;
    const removal = records.find(({ removedNodes }) => [...removedNodes].some((node) => node.contains(gone)));
    if (removal) focus(placeOf(removal, records) ?? document.querySelector('#main h1, h1'));
  });
  observer.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ['disabled'] });
}

/** A button loses the focus while its request is under way. */
const wasEnabled = (records: MutationRecord[], element: Element): boolean =>
  records.some(({ type, target }) => type === 'attributes' && target === element) && element.matches(FOCUSABLE);

function focus(element: Element | null): void {
  if (element instanceof HTMLElement) element.focus({ preventScroll: !element.matches(FOCUSABLE) });
}

function placeOf(removal: MutationRecord, records: MutationRecord[]): Element | null {
  let next = removal.nextSibling;
  // Rows after it may have gone in the same moment.
  for (let steps = 0; next && !next.isConnected && steps < records.length; steps += 1) {
    const gone = next;
    next = records.find(({ removedNodes }) => [...removedNodes].includes(gone as ChildNode))?.nextSibling ?? null;
  }
  let group = removal.target instanceof Element ? removal.target : null;
  while (group && !group.isConnected) group = group.parentElement;
  for (; group && !group.matches('body, main, #app, .layout'); group = group.parentElement) {
    const controls = [...group.querySelectorAll(FOCUSABLE)].filter((control) => control.checkVisibility());
    const after = controls.find((control) => next && isAtOrAfter(control, next));
    const found = after ?? controls.at(-1);
    if (found) return found;
    next = group.nextSibling;
  }
  return null;
}

function isAtOrAfter(control: Element, node: Node): boolean {
  return node.contains(control) || Boolean(node.compareDocumentPosition(control) & Node.DOCUMENT_POSITION_FOLLOWING);
}
