import { signal } from '@preact/signals';
import { ApiError, VoiceNotes } from 'vnotes';

import { toast } from '../components/toast';
import { startAt } from '../routing/hash-location';
import { baseUrl, client, signIn, signInReason, signOut } from './session';

/** The code of a link that was opened while somebody is signed in: nothing changes before they answer. */
export const askedCode = signal<string | null>(null);

/** Whether a code is exchanged now. */
export const isExchanging = signal(false);

/**
 * Signs in with the link that `npm start` prints: `#code=…`. Its code is good for one exchange within ten minutes, so that
 * it is worth nothing in the history of the browser, which keeps the address although it is replaced at once.
 */
export function takeLinkCode(): void {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (!code) return;
  startAt('/');
  if (client.peek()) askedCode.value = code;
  else void exchange(code);
}

/** Takes a link too that is pasted into the address bar of an open console: the page is not loaded again then. */
export function watchLinkCode(): void {
  addEventListener('hashchange', takeLinkCode);
}

/** Whoever is signed in is signed out once the code was exchanged, and stays signed in when it was refused. */
export async function exchange(code: string): Promise<void> {
  isExchanging.value = true;
  askedCode.value = null;
  try {
    const pair = await new VoiceNotes({ baseUrl: baseUrl() }).account.exchangeSignInCode(code);
    if (client.peek()) signOut();
    signIn({ key: pair.api_key, secret: pair.api_secret });
  } catch (error) {
    const isEnded = error instanceof ApiError && error.status === 401;
    const reason = isEnded
      ? 'This link has expired or was already used. Links work once, for 10 minutes.'
      : 'The link could not be used. Open it again, or sign in with a key.';
    if (client.peek()) toast(reason);
    else signInReason.value = reason;
  } finally {
    isExchanging.value = false;
  }
}
