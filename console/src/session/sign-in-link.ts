import { signal } from '@preact/signals';
import { ApiError, type Session, VoiceNotes } from 'vnotes';

import { t, type Text } from '../language/texts';
import { toast } from '../components/toast';
import { startAt } from '../routing/hash-location';
import { ask } from './ask';
import { baseUrl, client, session, signIn, signInPerson, signInReason, signOut } from './session';
import { forgetCredentials, hasStoredSession, storedSession, storeSession } from './stored-credentials';

/** The code of a link that was opened while somebody is signed in: nothing changes before they answer. */
export const askedCode = signal<string | null>(null);

/** A link for a person, which a page asks about before it is used. */
export interface PersonLink {
  kind: 'link' | 'invitation';
  token: string;
}
export const openedLink = signal<PersonLink | null>(null);

/** Whether a code is exchanged, or a session asked for, now. */
export const isExchanging = signal(false);

/**
 * Signs in with the link that `npm start` prints: `#code=…`. Its code is good for one exchange within ten minutes, so that
 * it is worth nothing in the history of the browser, which keeps the address although it is replaced at once.
 */
export function takeLinkCode(): void {
  const named = new URLSearchParams(location.hash.slice(1));
  for (const kind of ['link', 'invitation'] as const) {
    const token = named.get(kind);
    if (!token) continue;
    startAt('/');
    openedLink.value = { kind, token };
    return;
  }
  if (named.has('session') || named.has('sign-in-problem')) return takeProvidersAnswer(named.get('sign-in-problem'));
  const code = named.get('code');
  if (!code) return;
  startAt('/');
  if (client.peek()) askedCode.value = code;
  else void exchange(code);
}

/** Why somebody who comes back from an OpenID provider is not signed in. */
const PROBLEMS = new Map<string, Text>([
  ['refused', 'You were not signed in there.'],
  ['stranger', 'You are in no group that may use this account. Ask its administrator.'],
  ['expired', 'It took too long, or was begun in another browser.'],
  ['limited', 'These were too many attempts. Wait a minute.'],
]);

/** Of a sign-in at an OpenID provider. It ends a sign-in with a key. */
function takeProvidersAnswer(problem: string | null): void {
  startAt('/');
  if (problem !== null) {
    signInReason.value = t(PROBLEMS.get(problem) ?? 'The other service cannot be reached. Tell your administrator.');
    return;
  }
  if (client.peek()) signOut();
  storeSession(null);
  void resumeSession();
}

/** Takes a link too that is pasted into the address bar of an open console: the page is not loaded again then. */
export function watchLinkCode(): void {
  addEventListener('hashchange', takeLinkCode);
}

/** Goes on with the session of the browser, if there is one. Without the service as far as it is known: one can record. */
export async function resumeSession(): Promise<void> {
  if (!hasStoredSession()) return;
  isExchanging.value = true;
  try {
    signInPerson(await ask<Session>('GET', 'session'));
  } catch (error) {
    const isEnded = error instanceof ApiError && error.status === 401;
    const known = storedSession();
    if (isEnded) forgetCredentials();
    else if (known) return signInPerson(known);
    signInReason.value = isEnded ? t('Your session has ended.') : t('The service cannot be reached. Reload the page.');
  } finally {
    isExchanging.value = false;
  }
}

/** Whoever is signed in is signed out once the code was exchanged, and stays signed in when it was refused. */
export async function exchange(code: string): Promise<void> {
  isExchanging.value = true;
  askedCode.value = null;
  try {
    const pair = await new VoiceNotes({ baseUrl: baseUrl() }).account.exchangeSignInCode(code);
    if (session.peek()) await ask('DELETE', 'session');
    if (client.peek()) signOut();
    signIn({ key: pair.api_key, secret: pair.api_secret });
  } catch (error) {
    const isEnded = error instanceof ApiError && error.status === 401;
    const reason = isEnded
      ? t('This link has expired or was already used. Links work once, for 10 minutes.')
      : t('The link could not be used. Open it again, or sign in with a key.');
    if (client.peek()) toast(reason);
    else signInReason.value = reason;
  } finally {
    isExchanging.value = false;
  }
}
