import { signIn } from './session';

/**
 * Signs in with the link that `npm start` prints: `#key=…&secret=…`. A fragment is never sent to a server, and it is
 * removed from the address bar and the history at once.
 */
export function takeLinkCredentials(): void {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const [key, secret] = [fragment.get('key'), fragment.get('secret')];
  if (!key || !secret) return;
  history.replaceState(null, '', location.pathname + location.search);
  signIn({ key, secret });
}
