import { effect, untracked } from '@preact/signals';

import { saveFile } from '../components/save-file';
import { accountId } from '../session/account';
import { client, currentKey } from '../session/session';
import { captureLock, heldLocks, whenFree } from './sending/locks';
import { empty, LARGEST_FILE_BYTES, tooLarge } from './sending/problems';
import { onTabMessage, type TabMessage, tellTabs } from './sending/tabs';
import type { NoteDetails } from './new-note-details';
import { newItem, randomId, SHARED, type UploadItem } from './store/upload-item';
import { changeView, hideItem, showArrived, showItem, showStored, uploads, viewOf } from './upload-list';
import { UploadQueue } from './sending/upload-queue';
import { bytesOf, changeItem, isInMemory, itemsOf, keepInMemory, putItem, removeItem } from './store/upload-store';

let queue: UploadQueue | null = null;

/** Sends what waits for the account, and what is added from now on, as long as somebody is signed in. */
export function followUploads(): void {
  onTabMessage(onMessage);
  effect(() => {
    const [api, key] = [client.value, currentKey.value];
    if (!api || !key) return undefined;
    const ours = new UploadQueue(api, key, keepArrived);
    queue = ours;
    return () => {
      ours.end();
      queue = null;
      uploads.value = [];
    };
  });
  // Again when the account is known: what belongs to it was added with another key too.
  effect(() => {
    if (!client.value) return;
    void accountId.value;
    untracked(() => void refresh().then(() => queue?.pump()));
  });
}

/** Whose new items are, the first, and whose are shown. Before the account is known its key stands for it. */
function owners(): string[] {
  const byKey = currentKey.peek() ? [`key:${currentKey.peek()}`] : [];
  const id = accountId.peek();
  return [...new Set([...(id ? [id] : []), ...byKey])];
}

export function currentOwner(): string {
  return owners()[0] ?? '';
}

/** Reads the database again: another tab, or the recorder, changed it. */
async function refresh(): Promise<void> {
  await takeShared().catch(() => {});
  const items = await itemsOf(owners()).catch(() => []);
  const locks = await heldLocks();
  const isHeld = ({ id }: UploadItem) => locks.has(captureLock(id));
  const isEmpty = (item: UploadItem) => item.state === 'capturing' && item.size === 0 && !isHeld(item);
  for (const item of items.filter(isEmpty)) void removeItem(item.id).catch(() => {});
  const kept = items.filter((item) => !isEmpty(item));
  const capturing = kept.filter((item) => item.state === 'capturing' && isHeld(item)).map(({ id }) => id);
  showStored(kept, new Set(capturing));
  capturing.forEach(watchCapture);
}

/** What another app shared is sent to the account of who opens it. */
async function takeShared(): Promise<void> {
  const owner = currentOwner();
  if (owner === '') return;
  for (const { id } of await itemsOf([SHARED])) await changeItem(id, { owner });
}

const watched = new Set<string>();

/** A tab that records may be closed or killed: then the others show what it left. */
function watchCapture(id: string): void {
  if (watched.has(id)) return;
  watched.add(id);
  const again = () => {
    watched.delete(id);
    if (viewOf(id)?.phase === 'recording') void refresh();
  };
  whenFree(captureLock(id), new AbortController().signal).then(again, again);
}

/** Adds files to the queue, each in the database before it is sent. */
export async function addFiles(
  files: readonly File[],
  fields: NoteDetails = { tags: {}, language: '', speakers: '' },
): Promise<void> {
  const made = files.map((file) => ({ file, item: itemFor(file, fields) }));
  for (const { file, item } of made) await addFile(file, item);
  if (made.length > 0) void navigator.storage?.persist?.().catch(() => false);
}

function itemFor(file: File, details: NoteDetails): UploadItem {
  const { name, type, size } = file;
  return newItem({ ...details, owner: currentOwner(), kind: 'file', name, type, size, state: 'queued' });
}

async function addFile(file: File, item: UploadItem): Promise<void> {
  const problem = file.size > LARGEST_FILE_BYTES ? tooLarge() : file.size === 0 ? empty() : null;
  if (problem) {
    keepInMemory(item.id, file);
    return showItem({ ...item, state: 'refused', problem }, { durable: false });
  }
  await enqueueFile(item, file);
}

/** Sends a recording whose bytes are stored already. @param durable whether all of them are */
export async function enqueueRecording(item: UploadItem, durable: boolean): Promise<void> {
  const queued: UploadItem = { ...item, state: 'queued' };
  await putItem(queued).catch(() => keepInMemoryToo(queued));
  begin(queued, durable);
}

/** Stores a file and sends it. Where the browser cannot store it, it is sent from memory. */
async function enqueueFile(item: UploadItem, file: File): Promise<void> {
  let durable = true;
  try {
    await putItem(item, file);
  } catch {
    keepInMemory(item.id, file);
    durable = false;
  }
  begin(item, durable);
}

function begin(item: UploadItem, durable: boolean): void {
  showItem(item, { phase: 'queued', durable });
  tellTabs({ kind: 'changed' });
  queue?.pump();
}

/** Even the small change of state was too much for the storage. */
async function keepInMemoryToo(item: UploadItem): Promise<void> {
  if (!isInMemory(item.id)) keepInMemory(item.id, await bytesOf(item));
}

/** Sends what was interrupted or refused, or tries now what waits. */
export async function sendItem(id: string): Promise<void> {
  const view = viewOf(id);
  if (!view) return;
  const { item } = view;
  if (item.state === 'queued') return queue?.hurry(id);
  // The old key stands for a recording that was deleted: the person wants a new one.
  const renewed = item.problem?.code === 'conflict' && { idempotencyKey: randomId() };
  const fields = { state: 'queued' as const, problem: null, attempted: null, ...renewed };
  const changed = isInMemory(id) ? { ...item, ...fields } : await changeItem(id, fields);
  if (!changed) return hideItem(id);
  showItem(changed, { phase: 'queued' });
  tellTabs({ kind: 'changed' });
  queue?.hurry(id);
}

/** The service has it, and the copy in the browser goes. */
export async function keepArrived(id: string, recordingId: string): Promise<void> {
  showArrived(id, recordingId);
  await removeItem(id).catch(() => {});
  tellTabs({ kind: 'sent', id, recordingId });
}

/** Forgets an item and its bytes. */
export async function discardItem(id: string): Promise<void> {
  queue?.cancel(id);
  hideItem(id);
  await removeItem(id);
  tellTabs({ kind: 'discarded', id });
}

/** Saves what waits as a file. */
export async function downloadItem(item: UploadItem): Promise<void> {
  saveFile(await bytesOf(item), item.name);
}

function onMessage(message: TabMessage): void {
  if (message.kind === 'changed') return void refresh().then(() => queue?.pump());
  const view = viewOf(message.id);
  if (message.kind === 'sent') showArrived(message.id, message.recordingId);
  else if (message.kind === 'progress' && view?.phase === 'elsewhere') changeView(message.id, { sent: message.sent });
  else if (message.kind === 'discarded') {
    queue?.cancel(message.id);
    hideItem(message.id);
  }
}
