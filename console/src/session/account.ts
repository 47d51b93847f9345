import { computed, effect, signal } from '@preact/signals';
import { ApiError, type VoiceNotes } from 'vnotes';

import { client, currentKey, scopes, session } from './session';

/** The service cannot be reached: the pages say so, and offer to try again. */
const RETRY_MS = 5000;

export type Account = Awaited<ReturnType<VoiceNotes['account']['get']>>;

/** Null until it is loaded, and for a key without the scope account:read. */
export const account = signal<Account | null>(null);

/** What is kept on this device belongs to it. The half of the key that is no secret stands for an account it may not read. */
export const accountId = computed(
  () => session.value?.account_id ?? account.value?.id ?? (isUnreadable.value ? `key:${currentKey.value}` : null),
);

export const accountName = computed(() => account.value?.name ?? session.value?.account_name);

const isUnreadable = signal(false);

/** Loads the account of each new client. */
export function followAccount(): void {
  effect(() => {
    const api = client.value;
    account.value = null;
    isUnreadable.value = false;
    // The scopes of a session are known at once.
    if (api && (!session.peek() || scopes.peek()?.includes('account:read'))) void load(api);
  });
}

async function load(api: VoiceNotes): Promise<void> {
  while (client.peek() === api) {
    try {
      const loaded = await api.account.get();
      if (client.peek() === api) account.value = loaded;
      return;
    } catch (error) {
      if (client.peek() !== api) return;
      if (error instanceof ApiError && error.status === 403) {
        isUnreadable.value = true;
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
