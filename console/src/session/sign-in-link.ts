import { startAt } from '../routing/hash-location';
import { signIn } from './session';

/**
 * Signs in with the link that `npm start` prints: `#key=…&secret=…`. A fragment is never sent to a server, and it is
 * removed from the address bar and the history at once.
 * @returns whether the page was opened with such a link
 */
export function takeLinkCredentials(): boolean {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const [key, secret] = [fragment.get('key'), fragment.get('secret')];
  if (!key || !secret) return false;
  startAt('/');
  signIn({ key, secret });
  return true;
}

/** Takes a link too that is pasted into the address bar of an open console: the page is not loaded again then. */
export function watchLinkCredentials(): void {
  addEventListener('hashchange', takeLinkCredentials);
}
