import { computed, signal } from '@preact/signals';
import { type RateLimit, rateLimitOf, VoiceNotes } from 'vnotes';

export interface Credentials {
  key: string;
  secret: string;
}

/** Kept for the tab only: in memory, and lost with a reload unless the person asked to stay signed in. */
const credentials = signal<Credentials | null>(null);

/** What the last answer said of the account's bucket. */
export const rateLimit = signal<RateLimit | null>(null);

/** The API with the credentials of this tab; null while signed out. */
export const client = computed(() => {
  const pair = credentials.value;
  return pair && new VoiceNotes({ baseUrl: location.origin, ...pair, onResponse: ({ headers }) => noteLimit(headers) });
});

export function signIn(pair: Credentials): void {
  credentials.value = pair;
}

export function signOut(): void {
  credentials.value = null;
  rateLimit.value = null;
}

function noteLimit(headers: Headers): void {
  rateLimit.value = rateLimitOf(headers) ?? rateLimit.value;
}
