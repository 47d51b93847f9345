import { onSignOut } from '../../../session/session';

/** A correction that was begun and not saved. */
export interface Draft {
  /** Each editor has its own, so that two tabs on one recording do not touch each other's text. */
  id: string;
  recordingId: string;
  text: string;
  /** Of the text that it corrects. */
  etag: string | null;
  savedAt: number;
}

const NAME = 'vnotes-drafts';
const VERSION = 2;
const STORE = 'drafts';

/** The latest. Drafts outlive the tab and the browser. They hold text of the recording and no credentials. */
export async function readDraft(recordingId: string): Promise<Draft | null> {
  try {
    const found = (await run('readonly', (store) => store.index('recordingId').getAll(recordingId))) as Draft[];
    return found.toSorted((one, other) => other.savedAt - one.savedAt)[0] ?? null;
  } catch {
    // A browser that stores nothing, as in some private windows.
    return null;
  }
}

export async function removeDraft(id: string): Promise<void> {
  await run('readwrite', (store) => store.delete(id)).catch(() => undefined);
}

onSignOut(() => void indexedDB.deleteDatabase(NAME));

/** Writes the latest draft, one at a time: a long text is written at most as often as the disk can. */
export class DraftWriter {
  private next: Draft | null = null;
  private writing: Promise<void> | null = null;

  /** @param onFail told once a draft cannot be kept */
  constructor(private readonly onFail: () => void) {}

  write(draft: Draft): void {
    this.next = draft;
    this.writing ??= this.drain().finally(() => (this.writing = null));
  }

  /** Nothing is written any more after it. */
  async remove(id: string): Promise<void> {
    this.next = null;
    await this.writing;
    await removeDraft(id);
  }

  private async drain(): Promise<void> {
    while (this.next) {
      const draft = this.next;
      this.next = null;
      await run('readwrite', (store) => store.put(draft)).catch(this.onFail);
    }
  }
}

async function run(mode: IDBTransactionMode, request: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
  const database = await open();
  try {
    const transaction = database.transaction(STORE, mode);
    const asked = request(transaction.objectStore(STORE));
    await new Promise<void>((resolve, reject) => {
      transaction.addEventListener('complete', () => resolve());
      transaction.addEventListener('abort', () => reject(transaction.error ?? new Error('The draft was not stored.')));
    });
    return asked.result;
  } finally {
    database.close();
  }
}

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, VERSION);
    request.addEventListener('upgradeneeded', () => {
      // Of version 1, which had one draft for each recording.
      for (const store of request.result.objectStoreNames) request.result.deleteObjectStore(store);
      request.result.createObjectStore(STORE, { keyPath: 'id' }).createIndex('recordingId', 'recordingId');
    });
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new Error('The drafts cannot be opened.')));
  });
}
