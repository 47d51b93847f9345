import { effect, signal, untracked } from '@preact/signals';
import { ApiError, type VoiceNotes } from 'vnotes';

import { toast } from '../components/toast';
import { t, type Text } from '../language/texts';
import { client, currentKey, onSignOut } from '../session/session';
import { reasonsOf } from './bulk-outcome';
import { ONCE, runMany } from './bulk-task';

/** Recordings that are being deleted, or will be when the time for an undo is over. Lists leave them out. */
export const deletedIds = signal<ReadonlySet<string>>(new Set());

/** Deletions whose time for an undo runs. */
const pending = new Set<() => void>();

/** Survives a reload of the tab: what was announced is still going to happen, and can still be undone. */
const NAME = 'voice-notes.deletions';

/**
 * Deletes after the time for an undo. Nothing was sent before: a tab that is closed meanwhile leaves the recordings
 * where they are. After a reload the time begins again.
 */
export function deleteWithUndo(ids: readonly string[], titles: readonly string[]): void {
  const api = client.peek();
  if (!api || ids.length === 0) return;
  hide(ids);
  const forget = announce(ids, titles);
  const commit = () => {
    close();
    if (pending.delete(commit)) void deleteNow(api, ids, titles).finally(forget);
  };
  const undo = () => {
    pending.delete(commit);
    forget();
    show(ids);
  };
  pending.add(commit);
  const close = toast(about(ids.length, titles, 'Deleting “{title}”.', 'Deleting {count, number} recordings.'), {
    action: { label: t('Undo'), run: undo },
    onEnd: commit,
  });
}

type Announced = Record<string, { key: string; ids: readonly string[]; titles: readonly string[] }>;

function announced(): Announced {
  try {
    return JSON.parse(sessionStorage.getItem(NAME) ?? '{}') as Announced;
  } catch {
    // Without storage a reload forgets them.
    return {};
  }
}

function setAnnounced(all: Announced): void {
  try {
    sessionStorage.setItem(NAME, JSON.stringify(all));
  } catch {
    // As above.
  }
}

/** @returns a function that ends it */
function announce(ids: readonly string[], titles: readonly string[]): () => void {
  const name = ids[0] as string;
  setAnnounced({ ...announced(), [name]: { key: currentKey.peek() ?? '', ids, titles } });
  return () => {
    const { [name]: _, ...rest } = announced();
    setAnnounced(rest);
  };
}

/** Goes on after a reload, once the same key is signed in. */
export function followDeletions(): void {
  effect(() => {
    const key = client.value && currentKey.value;
    const ours = Object.values(announced()).filter(
      (one) => one.key === key && !deletedIds.peek().has(one.ids[0] ?? ''),
    );
    untracked(() => ours.forEach(({ ids, titles }) => deleteWithUndo(ids, titles)));
  });
}

onSignOut(() => {
  for (const commit of pending) commit();
});

async function deleteNow(api: VoiceNotes, ids: readonly string[], titles: readonly string[]): Promise<void> {
  const { done, failed, left } = await runMany('delete', ids, (id) => deleteOne(api, id));
  const rest = [...failed.map(({ item }) => item), ...left];
  if (rest.length === 0) return;
  show(rest);
  const again = () => deleteWithUndo(rest, titlesOf(rest, ids, titles));
  if (failed.length === 0) {
    const text = t('Stopped: {done, number} of {all, number} recordings deleted.', {
      done: done.length,
      all: ids.length,
    });
    return void toast(text, { action: { label: t('Continue'), run: again } });
  }
  const what =
    failed.length === ids.length
      ? about(ids.length, titles, 'Could not delete “{title}”.', 'Could not delete {count, number} recordings.')
      : t('Could not delete {failed, number} of {all, number} recordings.', { failed: failed.length, all: ids.length });
  toast(`${what} ${reasonsOf(failed)}`, { tone: 'bad', action: { label: t('Try again'), run: again } });
}

async function deleteOne(api: VoiceNotes, id: string): Promise<void> {
  try {
    await api.recordings.delete(id, ONCE);
  } catch (error) {
    // Somebody else was quicker.
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  }
}

function titlesOf(some: readonly string[], ids: readonly string[], titles: readonly string[]): string[] {
  const titleOf = new Map(ids.map((id, i) => [id, titles[i]]));
  return some.map((id) => titleOf.get(id) ?? '');
}

/** @param one has the `title`, and `many` the `count` */
const about = (count: number, titles: readonly string[], one: Text, many: Text): string =>
  count === 1 ? t(one, { title: titles[0] ?? '' }) : t(many, { count });

function hide(ids: readonly string[]): void {
  deletedIds.value = new Set([...deletedIds.value, ...ids]);
}

function show(ids: readonly string[]): void {
  const left = new Set(deletedIds.value);
  for (const id of ids) left.delete(id);
  deletedIds.value = left;
}
