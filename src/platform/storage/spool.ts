import { randomUUID } from 'node:crypto';
import { type FileHandle, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { errorCode, FILE_MODE, isRunning, makeFolder, onFileSystem } from './file-system.js';

/**
 * Seconds since the last write, before which a file is never taken for abandoned. Containers that share a host name do
 * not see each other's processes, but an upload in progress writes more often than this.
 */
const IDLE_SECONDS = 15;

const HOST = hostname().replace(/[^\w.-]/g, '_');
const FILE_NAME = /^(?<host>[\w.-]+)-(?<pid>\d+)-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Paths of the files in use by this process, whichever spool opened them. */
const inUse = new Set<string>();

/**
 * The folder of temporary files: uploads that are being received, and local copies of remote objects. Files are named
 * `{host}-{pid}-{uuid}`, so that any process of the host can find those of a process that has died.
 */
export class Spool {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = resolve(folder);
  }

  /** @throws StorageUnavailableError */
  async prepare(): Promise<void> {
    await onFileSystem('preparing the spool folder', () => makeFolder(this.folder, dirname(this.folder)));
  }

  /** An empty file, readable and writable for this user only. @throws StorageUnavailableError */
  async create(): Promise<SpoolFile> {
    const path = join(this.folder, `${HOST}-${process.pid}-${randomUUID()}`);
    inUse.add(path);
    try {
      return new SpoolFile(path, await onFileSystem('creating a spool file', () => open(path, 'wx+', FILE_MODE)));
    } catch (error) {
      inUse.delete(path);
      throw error;
    }
  }

  /** Runs `use` with an empty file, which is discarded afterwards. @throws as `create` */
  async withFile<T>(use: (file: SpoolFile) => Promise<T>): Promise<T> {
    const file = await this.create();
    try {
      return await use(file);
    } finally {
      await file.discard();
    }
  }

  /**
   * Removes the files of dead processes of this host, and files of any host that were last written more than
   * `olderThanSeconds` ago, which must be longer than any upload or transcription takes. Files in use by this process
   * stay. Returns the number of files removed.
   * @throws StorageUnavailableError
   */
  async sweep(olderThanSeconds: number): Promise<number> {
    return await onFileSystem('sweeping the spool folder', async () => {
      let removed = 0;
      for (const name of await readdir(this.folder)) {
        const path = join(this.folder, name);
        const owner = FILE_NAME.exec(name)?.groups;
        if (owner === undefined || inUse.has(path)) continue;
        const idleSeconds = await secondsSinceLastWrite(path);
        const abandoned = idleSeconds > IDLE_SECONDS && owner.host === HOST && isGone(Number(owner.pid));
        if (!abandoned && idleSeconds <= olderThanSeconds) continue;
        await rm(path, { force: true });
        removed += 1;
      }
      return removed;
    });
  }
}

/** One file of the spool, open until it is discarded. For one writer. */
export class SpoolFile {
  /** Bytes written so far. */
  sizeBytes = 0;
  private isMoved = false;

  constructor(
    readonly path: string,
    /** For reads by position. */
    readonly handle: FileHandle,
  ) {}

  /** Appends. Resolves when the operating system has the bytes. @throws StorageUnavailableError */
  async write(chunk: Uint8Array): Promise<void> {
    await onFileSystem('writing a spool file', () => this.handle.writeFile(chunk));
    this.sizeBytes += chunk.length;
  }

  /** Makes the bytes written so far survive a power cut. @throws StorageUnavailableError */
  async sync(): Promise<void> {
    await onFileSystem('writing a spool file', () => this.handle.datasync());
  }

  /** Moves the file out of the spool. @throws an error of the file system */
  async moveTo(target: string): Promise<void> {
    await rename(this.path, target);
    this.isMoved = true;
  }

  /**
   * Closes and removes the file; does nothing more to one that was moved or discarded. Never throws: `sweep` removes
   * what could not be removed here.
   */
  async discard(): Promise<void> {
    const closed = Promise.allSettled([this.handle.close()]);
    if (!this.isMoved) await Promise.allSettled([closed, unlink(this.path)]);
    inUse.delete(this.path);
  }
}

/** Negative when the clock was set back; 0 for a file that has just been removed. */
async function secondsSinceLastWrite(path: string): Promise<number> {
  try {
    return (Date.now() - (await stat(path)).mtimeMs) / 1000;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 0;
    throw error;
  }
}

/** Our own pid on a file that is not in use is that of an earlier process: in containers pids repeat. */
const isGone = (pid: number): boolean => pid === process.pid || !isRunning(pid);
