/** The browser's own database: what was recorded or chosen stays here until the service has it. */
const NAME = 'voice-notes';
const VERSION = 1;

export interface Stores {
  /** One row for each recording or file, by its id. */
  items: IDBObjectStore;
  /** Its bytes in order, by item and number. */
  chunks: IDBObjectStore;
}

let opening: Promise<IDBDatabase> | null = null;

/**
 * Runs `work` in one transaction and resolves when it is committed. `strict` flushes to the disk before that, so that
 * neither a killed browser nor a power cut takes back what was written.
 */
export async function transact<T>(mode: IDBTransactionMode, work: (stores: Stores) => Promise<T>): Promise<T> {
  const database = await open();
  const transaction = database.transaction(['items', 'chunks'], mode, { durability: 'strict' });
  const committed = new Promise<void>((resolve, reject) => {
    transaction.addEventListener('complete', () => resolve());
    // A full disk shows here, not at the request.
    transaction.addEventListener('abort', () => reject(transaction.error ?? new DOMException('', 'AbortError')));
  });
  committed.catch(() => {});
  try {
    const value = await work({ items: transaction.objectStore('items'), chunks: transaction.objectStore('chunks') });
    await committed;
    return value;
  } catch (error) {
    abort(transaction);
    throw error;
  }
}

function abort(transaction: IDBTransaction): void {
  try {
    transaction.abort();
  } catch {
    // It has ended already, which is why `work` failed.
  }
}

export function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new DOMException('', 'UnknownError')));
  });
}

function open(): Promise<IDBDatabase> {
  opening ??= connect().catch((error: unknown) => {
    opening = null;
    throw error;
  });
  return opening;
}

async function connect(): Promise<IDBDatabase> {
  const request = indexedDB.open(NAME, VERSION);
  request.addEventListener('upgradeneeded', () => {
    request.result.createObjectStore('items', { keyPath: 'id' }).createIndex('owner', 'owner');
    request.result.createObjectStore('chunks', { keyPath: ['item', 'n'] });
  });
  const database = await resultOf(request);
  const forget = () => (opening = null);
  // A newer console in another tab, or the person, removes the database: the next use opens it again.
  database.addEventListener('versionchange', () => {
    database.close();
    forget();
  });
  database.addEventListener('close', forget);
  return database;
}
