import { access, rm, unlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { asStorageFault, errorCode, FILE_MODE, makeFolder, syncFolder } from './file-system.js';
import { assertObjectKey } from './object-key.js';
import { ObjectStore } from './object-store.js';
import { ObjectNotFoundError, StorageUnavailableError } from './storage-errors.js';
import type { SpoolFile } from './spool.js';

/** Remembered at most, so that the set of folders known to be durable stays small. */
const KNOWN_FOLDERS = 10_000;

/**
 * Objects as files under one folder of a local or network disk. The spool must lie on the same file system: an object
 * is moved into its place, so it is there whole or not at all.
 *
 * Folders are never removed again, not even empty ones: taking one away could race with an upload that is about to
 * move its file in. There are twelve a year for an account.
 */
export class DiskObjectStore extends ObjectStore {
  private readonly root: string;
  private readonly durableFolders = new Set<string>();

  constructor(
    folder: string,
    readonly bucket: string,
  ) {
    super();
    this.root = resolve(folder);
  }

  /** Makes the store's own folder, at boot only: later on a missing folder means a lost disk, not an empty store. */
  async prepare(): Promise<void> {
    await this.guard('preparing the folder of the store', () => makeFolder(this.root, dirname(this.root)));
  }

  async put(key: string, file: SpoolFile, noted?: Promise<void>): Promise<void> {
    const target = this.pathOf(key);
    const folder = dirname(target);
    await this.guard('storing an object', async () => {
      await Promise.all([file.sync(), this.makeDurable(folder), noted]);
      try {
        await file.moveTo(target);
      } catch (error) {
        // Were the folder gone with its disk, it would have to be made anew when that is back.
        this.durableFolders.delete(folder);
        throw error;
      }
      try {
        await syncFolder(folder);
      } catch (error) {
        await rm(target, { force: true });
        throw error;
      }
    });
  }

  async withFile<T>(key: string, use: (file: string) => Promise<T>): Promise<T> {
    const path = this.pathOf(key);
    await this.guard('opening an object', async () => {
      try {
        await access(path);
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error;
        await this.requireRoot();
        throw new ObjectNotFoundError(`There is no object ${key}`);
      }
    });
    return await use(path);
  }

  async remove(key: string): Promise<void> {
    const path = this.pathOf(key);
    await this.guard('removing an object', async () => {
      try {
        await unlink(path);
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error;
        return await this.requireRoot();
      }
      // Otherwise a power cut could bring the object back after the note of its removal is gone.
      await syncFolder(dirname(path));
    });
  }

  /** Writes a few bytes: a full or read-only disk shows only then. */
  async check(): Promise<void> {
    await this.guard('writing to the folder of the store', async () => {
      await this.requireRoot();
      const file = join(this.root, `.write-check-${process.pid}`);
      await writeFile(file, `${new Date().toISOString()}\n`, { mode: FILE_MODE });
      await rm(file, { force: true });
    });
  }

  private pathOf(key: string): string {
    assertObjectKey(key);
    return join(this.root, key);
  }

  /** A disk that is not mounted must not pass for one whose objects are gone. */
  private async requireRoot(): Promise<void> {
    await access(this.root);
  }

  private async makeDurable(folder: string): Promise<void> {
    if (this.durableFolders.has(folder)) return;
    await this.requireRoot();
    await makeFolder(folder, this.root);
    if (this.durableFolders.size >= KNOWN_FOLDERS) this.durableFolders.clear();
    this.durableFolders.add(folder);
  }

  private async guard<T>(doing: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (errorCode(error) === 'EXDEV') {
        const rule = 'STORAGE_DIR/spool and STORAGE_DIR/objects must lie on one file system';
        throw new StorageUnavailableError(`${doing}: ${rule}`, { cause: error });
      }
      throw asStorageFault(error, doing);
    }
  }
}
