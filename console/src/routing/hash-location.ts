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

addEventListener('hashchange', update);
addEventListener('popstate', update);

function fragmentOfPage(): string {
  return `/${location.hash.replace(/^#?\/?/, '')}`;
}

function update(): void {
  const before = path.value;
  fragment.value = fragmentOfPage();
  if (path.value !== before) navigations.value += 1;
}

interface NavigateOptions {
  replace?: boolean;
  state?: unknown;
}

export function navigate(to: string, { replace = false, state = null }: NavigateOptions = {}): void {
  history[replace ? 'replaceState' : 'pushState'](state, '', `#${to}`);
  update();
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
