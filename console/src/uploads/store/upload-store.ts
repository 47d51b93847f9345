import { resultOf, transact } from './database';
import type { UploadItem } from './upload-item';

interface Chunk {
  item: string;
  n: number;
  data: Blob | ArrayBuffer;
}

/** Bytes that the database could not take: they are lost with the tab, and the person is told so. */
const memory = new Map<string, Blob>();

/** Adds or changes an item. @param bytes of a file, stored with it */
export async function putItem(item: UploadItem, bytes?: Blob): Promise<void> {
  await transact('readwrite', async ({ items, chunks }) => {
    items.put(item);
    if (bytes) chunks.put({ item: item.id, n: 0, data: bytes } satisfies Chunk);
    await Promise.resolve();
  });
}

/** Adds what was recorded since the last call. @param first number of the first of `parts` */
export async function appendChunks(item: UploadItem, first: number, parts: readonly ArrayBuffer[]): Promise<void> {
  await transact('readwrite', async ({ items, chunks }) => {
    items.put(item);
    for (const [i, data] of parts.entries()) chunks.put({ item: item.id, n: first + i, data } satisfies Chunk);
    await Promise.resolve();
  });
}

/** Changes an item that still exists. @returns null when another tab has sent or discarded it */
export async function changeItem(id: string, fields: Partial<UploadItem>): Promise<UploadItem | null> {
  return await transact('readwrite', async ({ items }) => {
    const item = (await resultOf(items.get(id))) as UploadItem | undefined;
    if (!item) return null;
    const changed = { ...item, ...fields };
    items.put(changed);
    return changed;
  });
}

export async function findItem(id: string): Promise<UploadItem | null> {
  return await transact('readonly', async ({ items }) => ((await resultOf(items.get(id))) as UploadItem) ?? null);
}

/** @returns oldest first */
export async function itemsOf(owners: readonly string[]): Promise<UploadItem[]> {
  const found = await transact('readonly', ({ items }) =>
    Promise.all(owners.map((owner) => resultOf(items.index('owner').getAll(owner)) as Promise<UploadItem[]>)),
  );
  return found.flat().toSorted((a, b) => a.createdAt - b.createdAt);
}

/** All bytes of an item in their order. */
export async function bytesOf({ id, type }: UploadItem): Promise<Blob> {
  const kept = memory.get(id);
  if (kept) return kept;
  const chunks = await transact(
    'readonly',
    (stores) => resultOf(stores.chunks.getAll(chunksOf(id))) as Promise<Chunk[]>,
  );
  return new Blob(
    chunks.map(({ data }) => data),
    { type },
  );
}

export async function removeItem(id: string): Promise<void> {
  memory.delete(id);
  await transact('readwrite', async ({ items, chunks }) => {
    items.delete(id);
    chunks.delete(chunksOf(id));
    await Promise.resolve();
  });
}

/** Keeps bytes for this tab only. */
export function keepInMemory(id: string, bytes: Blob): void {
  memory.set(id, bytes);
}

export function isInMemory(id: string): boolean {
  return memory.has(id);
}

/** Arrays come after numbers in the order of keys: this is every chunk of one item. */
function chunksOf(id: string): IDBKeyRange {
  return IDBKeyRange.bound([id], [id, []]);
}
