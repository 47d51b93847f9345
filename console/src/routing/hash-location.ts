import { computed, signal } from '@preact/signals';

/**
 * The location within the fragment: `#/recordings?status=failed`. What a person searches for is in the fragment too, so
 * that it does not reach the logs of a server.
 */
const fragment = signal(fragmentOfPage());
const path = computed(() => fragment.value.split('?', 1)[0] as string);
const search = computed(() => fragment.value.slice(path.value.length + 1));

/** How often the page was changed since it was loaded. */
export const navigations = signal(0);

/** How far each page was scrolled when it was left, for the way back. */
const scrolled = new Map<string, number>();
let arrival = 0;

history.scrollRestoration = 'manual';
addEventListener('hashchange', () => update(true));
addEventListener('popstate', () => update(true));

/**
 * What may hold the person on the page that is open, because something on it is not saved.
 * @returns whether it does; then `leave` goes where the person wanted to go
 */
type Hold = (leave: () => void) => boolean;

let hold: Hold | null = null;

/** Asks `wanted` before the browser's own buttons leave the page. @returns a function that ends that */
export function holdPage(wanted: Hold): () => void {
  hold = wanted;
  return () => {
    if (hold === wanted) hold = null;
  };
}

/** Where the page that is open now is to be scrolled to: its beginning, or where the person left it. */
export function arrivalScroll(): number {
  return arrival;
}

function fragmentOfPage(): string {
  return `/${location.hash.replace(/^#?\/?/, '')}`;
}

function update(isWayBack: boolean): void {
  const to = fragmentOfPage();
  if (to === fragment.value) return;
  if (isWayBack && isHeld(to)) return;
  const before = path.value;
  scrolled.set(fragment.value, scrollY);
  arrival = isWayBack ? (scrolled.get(to) ?? 0) : 0;
  fragment.value = to;
  if (path.value !== before) navigations.value += 1;
}

/**
 * The browser has left already. The page becomes a new entry after the one that it went to, so that one step back goes
 * there.
 */
function isHeld(to: string): boolean {
  if (to.split('?', 1)[0] === path.value) return false;
  const leave = () => {
    hold = null;
    history.back();
  };
  if (!hold?.(leave)) return false;
  history.pushState(null, '', `#${fragment.value}`);
  return true;
}

interface NavigateOptions {
  replace?: boolean;
  state?: unknown;
}

export function navigate(to: string, { replace = false, state = null }: NavigateOptions = {}): void {
  history[replace ? 'replaceState' : 'pushState'](state, '', `#${to}`);
  update(false);
}

/** Takes the place of the page that is opened just now: the person has not been on another. */
export function startAt(to: string): void {
  history.replaceState(null, '', `#${to}`);
  fragment.value = fragmentOfPage();
}

/** The hook for the router of wouter. */
export function useHashLocation(): [string, typeof navigate] {
  return [path.value, navigate];
}

useHashLocation.hrefs = (href: string) => `#${href}`;
useHashLocation.searchHook = () => search.value;
