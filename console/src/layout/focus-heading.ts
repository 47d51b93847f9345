/** How long a page may take until its heading is there. */
const PATIENCE_MS = 10_000;

/**
 * Names the tab of the browser after the page, and moves the focus to the heading of the page that is coming, so that the keyboard and a screen reader begin there.
 * @param before the heading of the page that goes
 * @returns a function that gives up
 */
export function focusNextHeading(before: Element | null): () => void {
  const main = document.getElementById('main');
  if (!main) return () => undefined;
  const end = () => {
    observer.disconnect();
    clearTimeout(timer);
  };
  const tryFocus = () => {
    const heading = main.querySelector('h1');
    if (!heading || heading === before) return;
    end();
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
    document.title = `${heading.textContent} · Voice notes`;
  };
  const observer = new MutationObserver(tryFocus);
  const timer = setTimeout(end, PATIENCE_MS);
  observer.observe(main, { childList: true, subtree: true });
  tryFocus();
  return end;
}
