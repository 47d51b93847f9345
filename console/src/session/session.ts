import { computed, signal } from '@preact/signals';
import { type RateLimit, rateLimitOf, VoiceNotes } from 'vnotes';

import { navigate } from '../routing/hash-location';
import { type Credentials, forgetCredentials, storeCredentials, watchStoredCredentials } from './stored-credentials';

/** Kept for the tab only: in memory, and lost with a reload unless the person asked to stay signed in. */
const credentials = signal<Credentials | null>(null);

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
  if (!pair) return null;
  const headers = { 'X-Upload-Source': 'console' };
  return new VoiceNotes({ baseUrl: baseUrl(), ...pair, headers, onResponse: (response) => note(response, pair) });
});

/** For what the client library does not do. @throws Error while signed out */
export function keyPair(): Credentials {
  if (!credentials.value) throw new Error('signed out');
  return credentials.value;
}

/** The key that is in use, for a list of keys. */
export const currentKey = computed(() => credentials.value?.key ?? null);

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
  scopes.value = null;
  throttledUntil.value = 0;
  signInReason.value = reason;
}

watchStoredCredentials(() => {
  if (credentials.value) leave('You signed out in another tab.');
});

export function scopesOf(headers: Headers): string[] | null {
  return headers.get('x-service-scopes')?.split(', ') ?? null;
}

function note({ headers, status }: Response, pair: Credentials): void {
  if (credentials.value !== pair) return;
  rateLimit.value = rateLimitOf(headers) ?? rateLimit.value;
  const held = scopesOf(headers);
  // The same again would draw every page anew.
  if (held && held.join() !== scopes.peek()?.join()) scopes.value = held;
  if (status === 429) throttledUntil.value = Date.now() + Number(headers.get('retry-after') ?? 0) * 1000;
  if (status !== 401) return;
  forgetCredentials();
  leave('This key no longer works: it was revoked or has expired. Sign in with another key.');
}
