import { randomUUID } from 'node:crypto';
import { type FileHandle, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { asStorageFault, errorCode, FILE_MODE, makeFolder } from './file-system.js';

/**
 * A file of a process that is gone is left alone for so long after the last write to it, in seconds. Containers that
 * share a host name do not see each other's processes: an upload under way there writes more often than this.
 */
const IDLE_SECONDS = 15;

const HOST = hostname().replace(/[^\w.-]/g, '_');
const FILE_NAME = /^(?<host>[\w.-]+)-(?<pid>\d+)-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Files in use by this process, by path; shared by all spools in it, since their names carry only the process. */
const inUse = new Set<string>();

/**
 * The folder of files that are under way: uploads that are being received, and local copies of remote objects. Its
 * files are named `{host}-{pid}-{uuid}`, so that any process of the host can tell what a dead one left behind.
 */
export class Spool {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = resolve(folder);
  }

  /** @throws StorageUnavailableError */
  async prepare(): Promise<void> {
    await guard('preparing the spool folder', () => makeFolder(this.folder, dirname(this.folder)));
  }

  /** An empty file, readable and writable for this user only. @throws StorageUnavailableError */
  async create(): Promise<SpoolFile> {
    const path = join(this.folder, `${HOST}-${process.pid}-${randomUUID()}`);
    inUse.add(path);
    try {
      return new SpoolFile(path, await open(path, 'wx+', FILE_MODE));
    } catch (error) {
      inUse.delete(path);
      throw asStorageFault(error, 'creating a spool file');
    }
  }

  /**
   * Removes what dead processes of this host left behind, and any file last written more than `olderThanSeconds` ago,
   * whichever host wrote it: that must be more than the longest upload and the longest transcription take. Files in use
   * by this process always stay. Returns how many files it removed.
   * @throws StorageUnavailableError
   */
  async sweep(olderThanSeconds: number): Promise<number> {
    return await guard('sweeping the spool folder', async () => {
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

/** One file of the spool, open until it is discarded. Meant for one writer. */
export class SpoolFile {
  /** Written so far. */
  sizeBytes = 0;
  private isMoved = false;

  constructor(
    readonly path: string,
    /** For reading what was written, by position. */
    readonly handle: FileHandle,
  ) {}

  /** Appends; resolves once the bytes are with the operating system. @throws StorageUnavailableError */
  async write(chunk: Uint8Array): Promise<void> {
    await guard('writing a spool file', () => this.handle.writeFile(chunk));
    this.sizeBytes += chunk.length;
  }

  /** Makes what was written survive a power cut. @throws StorageUnavailableError */
  async sync(): Promise<void> {
    await guard('writing a spool file', () => this.handle.datasync());
  }

  /** Out of the spool. @throws as the file system does */
  async moveTo(target: string): Promise<void> {
    await rename(this.path, target);
    this.isMoved = true;
  }

  /**
   * Closes and removes the file, also when it was moved away or discarded before. Never fails, since it is the last
   * thing done to a file: what cannot be removed now is left to the sweep.
   */
  async discard(): Promise<void> {
    const closed = Promise.allSettled([this.handle.close()]);
    if (!this.isMoved) await Promise.allSettled([closed, unlink(this.path)]);
    inUse.delete(this.path);
  }
}

/** A negative number where the clock went back; the file that has just gone counts as new, so that it is left alone. */
async function secondsSinceLastWrite(path: string): Promise<number> {
  try {
    return (Date.now() - (await stat(path)).mtimeMs) / 1000;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 0;
    throw error;
  }
}

/** This process's number on a file that is not in use is that of an earlier process: in containers all are alike. */
function isGone(pid: number): boolean {
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return errorCode(error) === 'ESRCH';
  }
}

async function guard<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asStorageFault(error, doing);
  }
}
