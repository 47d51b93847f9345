import { effect, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { AccountEvent, VoiceNotes } from 'vnotes';

import { client } from './session';

export type LiveState = 'off' | 'connecting' | 'live';

/** Whether events arrive now. */
export const liveState = signal<LiveState>('off');

/** The latest event of the account. Use `useLiveEvents` where none may be missed. */
export const latestEvent = signal<AccountEvent | null>(null);

const handlers = new Set<(event: AccountEvent) => void>();

/** Runs `handler` for each event of the account while the component is shown. All share one stream. */
export function useLiveEvents(handler: (event: AccountEvent) => void): void {
  const latest = useRef(handler);
  latest.current = handler;
  useEffect(() => onLiveEvent((event) => latest.current(event)), []);
}

/** @returns a function that ends it */
export function onLiveEvent(handler: (event: AccountEvent) => void): () => void {
  handlers.add(handler);
  return () => handlers.delete(handler);
}

/** Follows the events of each new client until it is signed out. */
export function followEvents(): void {
  effect(() => {
    const api = client.value;
    if (!api) return undefined;
    const ended = new AbortController();
    void follow(api, ended.signal);
    return () => {
      ended.abort();
      liveState.value = 'off';
    };
  });
}

async function follow(api: VoiceNotes, aborted: AbortSignal): Promise<void> {
  liveState.value = 'connecting';
  try {
    for await (const event of streamOf(api, aborted)) {
      latestEvent.value = event;
      for (const handler of handlers) handler(event);
    }
  } catch {
    // Refused for good, such as without the scope: the pages work without it.
    if (!aborted.aborted) liveState.value = 'off';
  }
}

function streamOf(api: VoiceNotes, aborted: AbortSignal): AsyncIterable<AccountEvent> {
  const { events } = api as unknown as {
    events: { stream: (options: object) => AsyncIterable<AccountEvent> };
  };
  return events.stream({ after: 'latest', signal: aborted });
}
