import { useEffect, useRef } from 'preact/hooks';
import type { AccountEvent, Recording, VoiceNotes } from 'vnotes';
import { useSignal } from '@preact/signals';

import { useAsync } from '../../hooks/use-async';
import { useLiveEvents } from '../../session/live-events';
import { client } from '../../session/session';
import { arrived } from '../../uploads/upload-list';
import { type ListQuery, requestOf } from './list-query';

export type RecordingsQuery = NonNullable<Parameters<VoiceNotes['recordings']['list']>[0]>;
type Page = Awaited<ReturnType<VoiceNotes['recordings']['list']>>;

/** Events that come together lead to one request. */
const GATHER_MS = 400;
/** At least between two requests that events lead to. */
const PAUSE_MS = 2000;

export interface Recordings {
  page: Page | undefined;
  error: unknown;
  loading: boolean;
  reload: () => void;
}

/** One page of the list, kept up to date by the events of the account. */
export function useRecordings(query: ListQuery): Recordings {
  const request = requestOf(query);
  const { value, error, loading, reload } = useAsync(
    (signal) => (client.value as VoiceNotes).recordings.list(request, { signal }),
    [JSON.stringify(request), client.value],
    shownBefore(JSON.stringify(request)),
  );
  const changes = useSignal<ReadonlyMap<string, Partial<Recording>>>(new Map());
  useEffect(() => {
    changes.value = new Map();
    if (value) shown = { api: client.peek(), request: JSON.stringify(request), page: value };
  }, [value]);
  const reloadSoon = useGathered(reload);
  useLiveEvents((event) => {
    const change = query.status === '' && query.q === '' ? changeBy(event) : null;
    const id = recordingIdOf(event);
    if (change && id && value?.recordings.some((recording) => recording.id === id))
      changes.value = new Map(changes.value).set(id, { ...changes.value.get(id), ...change });
    else reloadSoon();
  });
  // No event tells of an upload: what this browser sent is known without one.
  const known = useRef(arrived.peek());
  useEffect(() => {
    if (arrived.value !== known.current) reloadSoon();
    known.current = arrived.value;
  }, [arrived.value]);
  return { page: value && changed(value, changes.value), error, loading, reload };
}

/** The page that was shown last: there at once on the way back from a note. */
let shown: { api: VoiceNotes | null; request: string; page: Page } | null = null;

function shownBefore(request: string): Page | undefined {
  return shown?.api === client.peek() && shown?.request === request ? shown.page : undefined;
}

function changed(page: Page, changes: ReadonlyMap<string, Partial<Recording>>): Page {
  if (changes.size === 0) return page;
  return { ...page, recordings: page.recordings.map((recording) => ({ ...recording, ...changes.get(recording.id) })) };
}

/** What an event says of a recording that is shown; null when the list has to be asked for again. */
function changeBy({ event }: AccountEvent): Partial<Recording> | null {
  if (event === 'recording.transcribed') return { status: 'transcribed' };
  if (event === 'transcription.corrected') return {};
  return null;
}

function recordingIdOf({ body }: AccountEvent): string | undefined {
  return (body as { recording?: { id?: string } }).recording?.id;
}

/** Runs once for all calls within a moment. */
function useGathered(run: () => void): () => void {
  const state = useRef({ timer: 0, last: 0, run }).current;
  state.run = run;
  useEffect(() => () => clearTimeout(state.timer), []);
  return () => {
    if (state.timer !== 0) return;
    const delay = Math.max(GATHER_MS, state.last + PAUSE_MS - Date.now());
    state.timer = window.setTimeout(() => {
      Object.assign(state, { timer: 0, last: Date.now() });
      state.run();
    }, delay);
  };
}
