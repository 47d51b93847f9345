import { mkdir, open, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { coalesce } from '../concurrency/coalesce.js';

export class StorageUnavailableError extends Error {
  override readonly name = 'StorageUnavailableError';
  /** Whether no answer to a put came: the store may still be writing the object. */
  readonly mayArriveLate: boolean;

  constructor(message: string, { mayArriveLate = false, ...options }: ErrorOptions & { mayArriveLate?: boolean } = {}) {
    super(message, options);
    this.mayArriveLate = mayArriveLate;
  }
}

export class ObjectNotFoundError extends Error {
  override readonly name = 'ObjectNotFoundError';
}

/** Recordings are private: only the user that runs the service may read its folders and files. */
const FOLDER_MODE = 0o700;
export const FILE_MODE = 0o600;

/**
 * Creates `folder` and its missing parents, and syncs every new folder entry up to and including those in `root`. It
 * also syncs entries that another process has just created and may not have synced yet.
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
 * Makes files that were created in, moved into or removed from a folder survive a power cut. Callers that come while a
 * sync is under way share the next one, since the present one may have missed their change.
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

/** Bytes of the file system of a folder, and those that are free for users other than root. */
export async function spaceOf(folder: string): Promise<{ free: number; size: number }> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { free: bavail * bsize, size: blocks * bsize };
}

/** Its free bytes alone. */
export const freeBytesOf = async (folder: string): Promise<number> => (await spaceOf(folder)).free;

/** Null when there is no such file. */
export async function sizeOf(file: string): Promise<number | null> {
  return (await stat(file).catch(ignoreAbsent))?.size ?? null;
}

/** For `catch`: null for a file or folder that does not exist. */
export function ignoreAbsent(error: unknown): null {
  if (errorCode(error) === 'ENOENT') return null;
  throw error;
}

/** The code of an error of the operating system, such as `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  const isSystemError = typeof error === 'object' && error !== null && 'code' in error && 'syscall' in error;
  return isSystemError && typeof error.code === 'string' ? error.code : undefined;
}

/**
 * Runs `work` and turns an error of the file system (ENOSPC, EDQUOT, EROFS, EIO, EACCES …) into a
 * StorageUnavailableError: the disk is full, read-only, broken or not mounted, which an operator can repair.
 * Other errors pass unchanged.
 * @param doing for the message, such as `writing a spool file`
 */
export async function onFileSystem<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    throw new StorageUnavailableError(`${doing}: ${HINTS[code] ?? code}`, { cause: error });
  }
}

const HINTS: Record<string, string> = {
  EXDEV: 'STORAGE_DIR/spool and STORAGE_DIR/objects must lie on one file system',
};

/** Bytes of an object: offsets of the first and of the last, both inclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

export const lengthOf = ({ start, end }: ByteRange): number => end - start + 1;

/**
 * Opens a local file. The stream closes it when it ends or is destroyed.
 * @throws StorageUnavailableError when it has no such range; an error of the file system.
 */
export async function readFileRange(path: string, range?: ByteRange, signal?: AbortSignal): Promise<Readable> {
  const handle = await open(path);
  try {
    signal?.throwIfAborted();
    const { size } = await handle.stat();
    if (range && range.end >= size) throw new StorageUnavailableError(`an object has only ${size} bytes`);
  } catch (error) {
    await handle.close();
    throw error;
  }
  const stream = handle.createReadStream({ ...range });
  return signal ? addAbortSignal(signal, stream) : stream;
}

/** Streams from the local copy that `withCopy` makes, and keeps the copy until the stream is closed. */
export async function readCopy(
  withCopy: (use: (file: string) => Promise<void>) => Promise<void>,
  range?: ByteRange,
  signal?: AbortSignal,
): Promise<Readable> {
  return await new Promise((resolve, reject) => {
    withCopy(async (file) => {
      const stream = await readFileRange(file, range, signal);
      const closed = finished(stream, { cleanup: true }).catch(() => undefined);
      resolve(stream);
      await closed;
    }).catch(reject);
  });
}

/** Whether there is a process with this number on this machine, also one of another user. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== 'ESRCH';
  }
}
