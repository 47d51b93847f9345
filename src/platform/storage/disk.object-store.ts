import { access, readdir, rm, unlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import {
  type ByteRange,
  errorCode,
  FILE_MODE,
  ignoreAbsent,
  makeFolder,
  ObjectNotFoundError,
  onFileSystem,
  readFileRange,
  syncFolder,
} from './file-system.js';
import { assertKeyFolder, assertKeyPrefix, assertObjectKey, type ListedStore, ObjectStore } from './object-store.js';
import type { SpoolFile } from './spool.js';

/** Bounds the memory of the set of folders that are known to be durable. */
const MAX_KNOWN_FOLDERS = 10_000;

/**
 * Objects as files under one folder of a local or network disk. The spool must lie on the same file system, because a
 * file is renamed into its place: so an object is there whole or not at all.
 *
 * Empty folders are not removed: that could race with an upload that renames its file into one. An account has twelve
 * folders a year.
 */
export class DiskObjectStore extends ObjectStore implements ListedStore {
  private readonly root: string;
  private readonly durableFolders = new Set<string>();

  constructor(
    folder: string,
    readonly bucket: string,
  ) {
    super();
    this.root = resolve(folder);
  }

  /** Creates the root folder, at boot only. Later a missing root means that the disk is not mounted. */
  async prepare(): Promise<void> {
    await onFileSystem('preparing the folder of the store', () => makeFolder(this.root, dirname(this.root)));
  }

  async put(key: string, file: SpoolFile, reserved?: Promise<void>): Promise<void> {
    const target = this.pathOf(key);
    const folder = dirname(target);
    await onFileSystem('storing an object', async () => {
      await Promise.all([file.sync(), this.makeDurable(folder), reserved]);
      try {
        await file.moveTo(target);
      } catch (error) {
        // The folder may be gone with its disk, and is created again when the disk is back.
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
    await this.opening(key, () => access(path));
    return await use(path);
  }

  override async read(key: string, range?: ByteRange, signal?: AbortSignal): Promise<Readable> {
    const path = this.pathOf(key);
    return await this.opening(key, () => readFileRange(path, range, signal));
  }

  async remove(key: string): Promise<void> {
    const path = this.pathOf(key);
    await onFileSystem('removing an object', async () => {
      try {
        await unlink(path);
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error;
        await this.requireRoot();
        // A disk that was mounted between the two has the object. One that never had it has no folder to sync either.
        if ((await unlink(path).then(() => true, ignoreAbsent)) === null) return;
      }
      // Without this a power cut could bring the object back after its removal was recorded.
      await syncFolder(dirname(path));
    });
  }

  async countUnder(prefix: string): Promise<number> {
    assertKeyPrefix(prefix);
    return (await this.filesUnder(prefix)).length;
  }

  async *list(folder: string): AsyncGenerator<string> {
    assertKeyFolder(folder);
    yield* (await this.filesUnder(folder)).map((file) => relative(this.root, file)).toSorted();
  }

  /** With its folders. An upload that moves a file into one meanwhile makes it fail. */
  async removeUnder(prefix: string): Promise<number> {
    assertKeyPrefix(prefix);
    const files = await this.filesUnder(prefix);
    await onFileSystem('removing a folder', async () => {
      await rm(join(this.root, prefix), { recursive: true, force: true });
      this.durableFolders.clear();
      await syncFolder(this.root);
    });
    return files.length;
  }

  /** Writes a few bytes, because only a write fails on a full or read-only disk. */
  async check(): Promise<void> {
    await onFileSystem('writing to the folder of the store', async () => {
      await this.requireRoot();
      const file = join(this.root, `.write-check-${process.pid}`);
      await writeFile(file, `${new Date().toISOString()}\n`, { mode: FILE_MODE });
      await rm(file, { force: true });
    });
  }

  private async filesUnder(prefix: string): Promise<string[]> {
    return await onFileSystem('listing objects', async () => {
      await this.requireRoot();
      try {
        const entries = await readdir(join(this.root, prefix), { recursive: true, withFileTypes: true });
        return entries.flatMap((entry) => (entry.isFile() ? join(entry.parentPath, entry.name) : []));
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error;
        return [];
      }
    });
  }

  private async opening<T>(key: string, open: () => Promise<T>): Promise<T> {
    return await onFileSystem('opening an object', async () => {
      try {
        return await open();
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error;
        await this.requireRoot();
        throw new ObjectNotFoundError(`Object not found: ${key}`);
      }
    });
  }

  private pathOf(key: string): string {
    assertObjectKey(key);
    return join(this.root, key);
  }

  /** Tells a disk that is not mounted from an object that does not exist. */
  private async requireRoot(): Promise<void> {
    await access(this.root);
  }

  private async makeDurable(folder: string): Promise<void> {
    if (this.durableFolders.has(folder)) return;
    await this.requireRoot();
    await makeFolder(folder, this.root);
    if (this.durableFolders.size >= MAX_KNOWN_FOLDERS) this.durableFolders.clear();
    this.durableFolders.add(folder);
  }
}
