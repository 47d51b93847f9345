import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { coalesce } from '../queue/coalesce.js';
import { StorageUnavailableError } from './storage-errors.js';

/** Voice notes are private: only the user that runs the service may enter its folders and read its files. */
const FOLDER_MODE = 0o700;
export const FILE_MODE = 0o600;

/**
 * Makes `folder` and what is missing above it, and makes the new entries survive a power cut, up to and including
 * those in `root`: also when another process has just made them, and has not come to that yet.
 */
export async function makeFolder(folder: string, root: string): Promise<void> {
  const firstMade = await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const top = firstMade === undefined || firstMade.length > root.length ? root : dirname(firstMade);
  for (let parent = dirname(folder); parent.length >= top.length; parent = dirname(parent)) {
    await syncFolder(parent);
    if (parent === dirname(parent)) break;
  }
}

/**
 * Makes what was created in, moved into or removed from a folder survive a power cut. Those who ask while a sync is under
 * way, which may have passed over what they did, share the next one.
 */
export const syncFolder = coalesce<string, void>(async (folders) => {
  const syncs = new Map([...new Set(folders)].map((folder) => [folder, syncOnce(folder)]));
  await Promise.allSettled(syncs.values());
  return folders.map((folder) => syncs.get(folder));
});

async function syncOnce(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The system's name of an error, such as `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  const isSystemError = typeof error === 'object' && error !== null && 'code' in error && 'syscall' in error;
  return isSystemError && typeof error.code === 'string' ? error.code : undefined;
}

/**
 * A full, read-only, broken, unmounted or forbidden file system (ENOSPC, EDQUOT, EROFS, EIO, EACCES, …) is all one to
 * the caller: storage is out of reach, and it may be there later. What is no error of the file system is left alone.
 */
export function asStorageFault(error: unknown, doing: string): unknown {
  const code = errorCode(error);
  return code === undefined ? error : new StorageUnavailableError(`${doing}: ${code}`, { cause: error });
}
