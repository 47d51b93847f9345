import { computed, effect, signal } from '@preact/signals';
import { type RateLimit, rateLimitOf, type Session, VoiceNotes } from 'vnotes';

import { t } from '../language/texts';
import { navigate } from '../routing/hash-location';
import {
  type Credentials,
  forgetCredentials,
  storeCredentials,
  storeSession,
  watchStoredCredentials,
} from './stored-credentials';

/** Kept for the tab only: in memory, and lost with a reload unless the person asked to stay signed in. */
const credentials = signal<Credentials | null>(null);

/** Of the person who has signed in; null for a key. Its cookie goes with every request. */
export const session = signal<Session | null>(null);

/** What stands for the credentials: the key, or the session with the account for which it acts. */
export const currentKey = computed(
  () => credentials.value?.key ?? (session.value && `session:${session.value.id}:${session.value.account_id}`),
);

/** Whether the last one who signed in on this page did it with a key. */
export let lastWasKey = false;

/** What the last answer said of the account's bucket. */
export const rateLimit = signal<RateLimit | null>(null);

/** What the key may do, as the last answer said; null before the first one. */
export const scopes = signal<readonly string[] | null>(null);

/** When requests may go on after a 429, in milliseconds of the clock; the client library repeats them by itself. */
export const throttledUntil = signal(0);

/** Why the person has to sign in again, if they did not sign out themselves. */
export const signInReason = signal<string | null>(null);

/** The API with the credentials of this tab; null while signed out. */
export const client = computed(() => {
  const pair = credentials.value;
  const key = currentKey.value;
  if (!key) return null;
  const headers = { 'X-Upload-Source': 'console' };
  return new VoiceNotes({ baseUrl: baseUrl(), ...pair, headers, onResponse: (response) => note(response, key) });
});

/** For what the client library does not do; null in a session. */
export const keyPair = (): Credentials | null => credentials.value;

/** Whether a key, or the beginning of one, is that of a test account. */
export const isTestKey = (key: string | null): boolean => key?.startsWith('vnk_test_') ?? false;

const atSignOut = new Set<() => void>();

/** Runs `callback` when the person signs out, while the client still works. */
export function onSignOut(callback: () => void): void {
  atSignOut.add(callback);
}

/** A proxy may serve the console and the API below any path. */
export function baseUrl(): string {
  return new URL('.', location.href).href;
}

interface SignInOptions {
  /** Also keeps them in the storage of the browser, until the person signs out. */
  remember?: boolean;
  /** If an answer has told them already. */
  scopes?: readonly string[] | null;
}

export function signIn(pair: Credentials, { remember = false, scopes: known = null }: SignInOptions = {}): void {
  if (remember) storeCredentials(pair);
  signInReason.value = null;
  scopes.value = known;
  lastWasKey = true;
  credentials.value = pair;
}

/** The session of a person, whose cookie the browser has. */
export function signInPerson(begun: Session): void {
  signInReason.value = null;
  scopes.value = begun.scopes;
  lastWasKey = false;
  session.value = begun;
}

/** Forgets the credentials, here and in other tabs that took them from the storage. A session has ended before. */
export function signOut(): void {
  for (const callback of atSignOut) callback();
  forgetCredentials();
  sessionStorage.clear();
  leave(null);
  navigate('/', { replace: true });
}

/** Leaves the page as it is, so that the person is back there after they have signed in. */
function leave(reason: string | null): void {
  credentials.value = null;
  session.value = null;
  rateLimit.value = null;
  scopes.value = null;
  throttledUntil.value = 0;
  signInReason.value = reason;
}

// Also after the person has chosen another account: what is recorded without a network is for that one.
effect(() => {
  if (session.value) storeSession(session.value);
});

watchStoredCredentials(() => {
  if (currentKey.value) leave(t('You signed out in another tab.'));
});

export function scopesOf(headers: Headers): string[] | null {
  return headers.get('x-service-scopes')?.split(', ') ?? null;
}

function note({ headers, status }: Response, key: string): void {
  if (currentKey.value !== key) return;
  rateLimit.value = rateLimitOf(headers) ?? rateLimit.value;
  const held = scopesOf(headers);
  // The same again would draw every page anew.
  if (held && held.join() !== scopes.peek()?.join()) scopes.value = held;
  if (status === 429) throttledUntil.value = Date.now() + Number(headers.get('retry-after') ?? 0) * 1000;
  if (status !== 401) return;
  forgetCredentials();
  leave(
    session.value
      ? t('Your session has ended.')
      : t('This key no longer works: it was revoked or has expired. Sign in with another key.'),
  );
}
