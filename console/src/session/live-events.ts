import { effect, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { type AccountEvent, ApiError, type VoiceNotes } from 'vnotes';

import { client } from './session';

export type LiveState = 'off' | 'connecting' | 'live' | 'offline';

/** Whether events arrive now. */
export const liveState = signal<LiveState>('off');

/**
 * How many times events began to arrive without those of the time before: when the page was opened, and after a lost
 * network. What was asked for before may be old, and no event will tell.
 */
export const beginnings = signal(0);

/**
 * Whether what was asked for after `askedAt` beginnings may be old. While the page is opened the time without events is
 * short, and a small plan has ten requests a minute: then only what is under way is asked for again.
 */
export const mayBeOld = (askedAt: number, isUnderWay: boolean): boolean =>
  askedAt < beginnings.value && (isUnderWay || beginnings.value > 1);

/** The service cannot be reached: how long until it is tried again. */
const RETRY_MS = 5000;

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
  let after: number | 'latest' = 'latest';
  while (!aborted.aborted) {
    liveState.value = 'connecting';
    // A connection from before the network was lost may look alive for a minute.
    const lost = new AbortController();
    addEventListener('offline', () => lost.abort(), { signal: aborted, once: true });
    try {
      for await (const event of eventsOf(api, after, AbortSignal.any([aborted, lost.signal]))) {
        after = event.sequence;
        for (const handler of handlers) handler(event);
      }
    } catch (error) {
      // Such as without the scope: the pages work without it.
      if (error instanceof ApiError && error.status < 500 && error.status !== 429) break;
    }
    if (!aborted.aborted) await untilRetry();
  }
  if (!aborted.aborted) liveState.value = 'off';
}

function eventsOf(api: VoiceNotes, after: number | 'latest', aborted: AbortSignal): AsyncIterable<AccountEvent> {
  let isBeginning = after === 'latest';
  const onState = ({ state }: { state: 'open' | 'waiting' }) => {
    if (aborted.aborted) return;
    liveState.value = state === 'open' ? 'live' : 'connecting';
    // The client goes on after the last event by itself when it connects again.
    if (state === 'open' && isBeginning) beginnings.value += 1;
    isBeginning &&= state !== 'open';
  };
  return api.events.stream({ after, signal: aborted, onState });
}

/** Some seconds, or until there is a network again. */
async function untilRetry(): Promise<void> {
  liveState.value = navigator.onLine ? 'connecting' : 'offline';
  await new Promise<unknown>((resolve) => {
    addEventListener('online', resolve, { once: true });
    if (navigator.onLine) setTimeout(resolve, RETRY_MS);
  });
}
