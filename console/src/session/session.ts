import { computed, signal } from '@preact/signals';
import { type RateLimit, rateLimitOf, VoiceNotes } from 'vnotes';

import { navigate } from '../routing/hash-location';
import { forgetCredentials, storeCredentials, watchStoredCredentials } from './stored-credentials';

export interface Credentials {
  key: string;
  secret: string;
}

/** Kept for the tab only: in memory, and lost with a reload unless the person asked to stay signed in. */
const credentials = signal<Credentials | null>(null);

/** What the last answer said of the account's bucket. */
export const rateLimit = signal<RateLimit | null>(null);

/** When requests may go on after a 429, in milliseconds of the clock; the client library repeats them by itself. */
export const throttledUntil = signal(0);

/** Why the person has to sign in again, if they did not sign out themselves. */
export const signInReason = signal<string | null>(null);

/** The API with the credentials of this tab; null while signed out. */
export const client = computed(() => {
  const pair = credentials.value;
  if (!pair) return null;
  const headers = { 'X-Upload-Source': 'console' };
  return new VoiceNotes({ baseUrl: baseUrl(), ...pair, headers, onResponse: (response) => note(response, pair) });
});

/** The key that is in use, for a list of keys. */
export const currentKey = computed(() => credentials.value?.key ?? null);

const atSignOut = new Set<() => void>();

/** Runs `callback` when the person signs out, while the client still works. */
export function onSignOut(callback: () => void): void {
  atSignOut.add(callback);
}

/** A proxy may serve the console and the API below any path. */
export function baseUrl(): string {
  return new URL('.', location.href).href;
}

/** @param remember also keeps them in the storage of the browser, until the person signs out */
export function signIn(pair: Credentials, { remember = false }: { remember?: boolean } = {}): void {
  if (remember) storeCredentials(pair);
  signInReason.value = null;
  credentials.value = pair;
}

/** Forgets the credentials, here and in other tabs that took them from the storage. */
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
  rateLimit.value = null;
  throttledUntil.value = 0;
  signInReason.value = reason;
}

watchStoredCredentials(() => {
  if (credentials.value) leave('You signed out in another tab.');
});

function note({ headers, status }: Response, pair: Credentials): void {
  if (credentials.value !== pair) return;
  rateLimit.value = rateLimitOf(headers) ?? rateLimit.value;
  if (status === 429) throttledUntil.value = Date.now() + Number(headers.get('retry-after') ?? 0) * 1000;
  if (status !== 401) return;
  forgetCredentials();
  leave('The key is no longer accepted: it was revoked or has expired. Sign in with another key.');
}
