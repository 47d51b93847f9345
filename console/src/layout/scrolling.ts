/** How long a page may take until it is as tall as it was. */
const PATIENCE_MS = 30_000;

/** Calls once when the person scrolls, points or types. @returns a function that ends it */
export function onceMoved(moved: () => void): () => void {
  const ended = new AbortController();
  const options = { signal: ended.signal, passive: true };
  const end = () => {
    ended.abort();
    moved();
  };
  for (const kind of ['wheel', 'touchmove', 'pointerdown', 'keydown']) addEventListener(kind, end, options);
  return () => ended.abort();
}

/**
 * Scrolls the page to there. A page that is still loading is too short for it: then again as it grows, until the person
 * moves. @returns a function that ends it
 */
export function scrollWhenLoaded(top: number): () => void {
  const isThere = () => {
    scrollTo(0, top);
    return Math.abs(scrollY - top) < 1;
  };
  if (isThere()) return () => undefined;
  const end = () => {
    growth.disconnect();
    endMoved();
    clearTimeout(timer);
  };
  const growth = new ResizeObserver(() => isThere() && end());
  const endMoved = onceMoved(end);
  const timer = setTimeout(end, PATIENCE_MS);
  growth.observe(document.body);
  return end;
}

/** Where a text begins to be seen, in the window: the player may lie on it. */
export const topOfSight = (): number =>
  Math.max(0, document.querySelector('.note-bar, .player')?.getBoundingClientRect().bottom ?? 0);
