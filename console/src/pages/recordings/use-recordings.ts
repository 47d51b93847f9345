import { useCallback, useEffect, useRef } from 'preact/hooks';
import type { AccountEvent, Recording, VoiceNotes } from 'vnotes';
import { useSignal } from '@preact/signals';

import { useAsync } from '../../hooks/use-async';
import { beginnings, liveState, mayBeOld, useLiveEvents } from '../../session/live-events';
import { backgroundTime } from '../../session/pacing';
import { client, rateLimit } from '../../session/session';
import { arrived } from '../../uploads/upload-list';
import { currentPage, historyNow, keepPage, keptPage, outdatePage, type Page } from './kept-page';
import { isByLength, type ListQuery, type RecordingsQuery, requestOf } from './list-query';
import { noteLabels } from './seen-labels';

/** Events that come together lead to one request. */
const GATHER_MS = 400;
/** At least between two requests that events lead to. */
const PAUSE_MS = 2000;
/** Of the limit of requests: for what a person does meanwhile. */
const KEPT_FOR_PEOPLE = 0.2;

export interface Recordings {
  page: Page | undefined;
  /** What the page answers: that before, while another is on its way. */
  query: ListQuery;
  error: unknown;
  loading: boolean;
  reload: () => void;
}

/** One page of the list, kept up to date by the events of the account. */
export function useRecordings(query: ListQuery): Recordings {
  const request = requestOf(query);
  const key = JSON.stringify(request);
  const askedAt = useRef(0);
  const {
    value,
    error,
    loading,
    reload: load,
  } = useAsync(
    (signal) => {
      askedAt.current = beginnings.peek();
      return pageOf(request, key, signal).then((page) => ({ page, query }));
    },
    [key, client.value],
    initialOf(key, query),
  );
  const page = value?.page;
  const reload = useCallback(() => {
    outdatePage();
    load();
  }, [load]);
  const changes = useSignal<ReadonlyMap<string, Partial<Recording>>>(new Map());
  useEffect(() => {
    changes.value = new Map();
  }, [value]);
  const show = (id: string, change: Partial<Recording>) =>
    (changes.value = new Map(changes.value).set(id, { ...changes.value.get(id), ...change }));
  const reloadSoon = useGathered(reload);
  // No event tells whether anybody speaks, and what.
  const outcomes = useRef(new Set<string>()).current;
  const askSoon = useGathered(() => {
    const [id = '', ...others] = outcomes;
    outcomes.clear();
    if (others.length > 0) return reload();
    client.value?.recordings.get(id, { include: ['snippet'] }).then(
      ({ status, features, snippet }) => show(id, { status, features, snippet }),
      () => undefined,
    );
  });
  useLiveEvents((event) => {
    // The length is known for good when it is transcribed.
    const isInPlace = query.status === '' && query.q === '' && !isByLength(query);
    const change = isInPlace ? changeBy(event) : null;
    const id = recordingIdOf(event);
    if (!change || !id || !page?.recordings.some((recording) => recording.id === id)) return reloadSoon();
    show(id, change);
    if (event.event === 'recording.transcribed') outcomes.add(id);
    if (outcomes.size > 0) askSoon();
  });
  // The page was asked for before events began: what has changed in between is told by none.
  useEffect(() => {
    const isUnderWay = page?.recordings.some(({ status }) => status === 'processing') ?? false;
    if (mayBeOld(askedAt.current, isUnderWay)) reloadSoon();
  }, [value, beginnings.value]);
  // No event tells of an upload: what this browser sent is known without one.
  const known = useRef(arrived.peek());
  useEffect(() => {
    if (arrived.value !== known.current) reloadSoon();
    known.current = arrived.value;
  }, [arrived.value]);
  return { page: page && changed(page, changes.value), query: value?.query ?? query, error, loading, reload };
}

function initialOf(key: string, query: ListQuery): { page: Page; query: ListQuery } | undefined {
  const page = keptPage(key);
  return page && { page, query };
}

/** Without a request when nothing has changed since the page was shown: a small plan has ten a minute. */
async function pageOf(request: RecordingsQuery, key: string, signal: AbortSignal): Promise<Page> {
  const current = currentPage(key);
  if (current) return current;
  const history = liveState.peek() === 'live' ? historyNow() : -1;
  const page = await (client.value as VoiceNotes).recordings.list(request, { signal });
  keepPage(key, page, history);
  noteLabels(page.recordings);
  return page;
}

function changed(page: Page, changes: ReadonlyMap<string, Partial<Recording>>): Page {
  if (changes.size === 0) return page;
  return { ...page, recordings: page.recordings.map((recording) => ({ ...recording, ...changes.get(recording.id) })) };
}

/** What an event says of a recording that is shown; null when the list has to be asked for again. */
function changeBy({ event }: AccountEvent): Partial<Recording> | null {
  if (event === 'recording.transcribed') return { status: 'transcribed' };
  if (event === 'transcription.corrected' || event === 'recording.partial') return {};
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
    const next = Math.max(state.last + PAUSE_MS, backgroundTime(rateLimit.peek(), KEPT_FOR_PEOPLE, state.last));
    const delay = Math.max(GATHER_MS, next - Date.now());
    state.timer = window.setTimeout(() => {
      Object.assign(state, { timer: 0, last: Date.now() });
      state.run();
    }, delay);
  };
}
