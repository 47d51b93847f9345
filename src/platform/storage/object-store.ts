import type { Readable } from 'node:stream';
import type { Env } from '../config/env.js';
import { type ByteRange, readCopy } from './file-system.js';
import type { Spool, SpoolFile } from './spool.js';

/** A kind of object store that STORAGE_DRIVER can name. */
export interface ObjectStoreDefinition {
  name: string;
  /** Resolves once the store can be used. @throws StorageUnavailableError, which ends the start. */
  open(env: Env, spool: Spool): Promise<ObjectStore>;
}

/**
 * Where audio objects live. One bucket per service; keys are relative paths such as
 * `{tenant}/2026/11/{recording}.webm` and contain nothing that a client sent.
 */
export abstract class ObjectStore {
  /** Shown to clients as `s3_bucket`, also for a local disk (D25). */
  abstract readonly bucket: string;

  /**
   * The key under which a new object is to be stored that would have this one. It says how the object is stored, so it is
   * asked for before the key is written down.
   * @throws StorageUnavailableError
   */
  async keyFor(key: string): Promise<string> {
    return key;
  }

  /**
   * Stores a file of the spool. When the promise resolves, the object is durable under `key`. The caller discards the
   * file in any case.
   * @param reserved the store writes nothing under `key` before this resolves.
   * @throws StorageUnavailableError when the store cannot be reached or is full; then nothing is kept, unless the error
   *   says `mayArriveLate`.
   */
  abstract put(key: string, file: SpoolFile, reserved?: Promise<void>): Promise<void>;

  /**
   * Runs `use` with the path of a local, seekable copy of the object, and removes the copy afterwards.
   * @param signal ends the wait for the store.
   * @throws ObjectNotFoundError, or StorageUnavailableError when the store cannot be reached.
   */
  abstract withFile<T>(key: string, use: (file: string) => Promise<T>, signal?: AbortSignal): Promise<T>;

  /**
   * Opens an object, or a range of it, for a reader that may be slow. Resolves when its first bytes can be read. To
   * destroy the stream frees all that it holds, at once. When the store fails later, the stream ends with an error.
   * A store that can read ranges overrides this: it makes a local copy of the whole object for each reader.
   * @param range all of the object when omitted.
   * @param signal ends the wait for the store, and the stream.
   * @throws ObjectNotFoundError, or StorageUnavailableError when the store cannot be reached or the object is shorter.
   */
  async read(key: string, range?: ByteRange, signal?: AbortSignal): Promise<Readable> {
    return await readCopy((use) => this.withFile(key, use, signal), range, signal);
  }

  /** Removes the object. An object that does not exist is no error. @throws StorageUnavailableError */
  abstract remove(key: string): Promise<void>;

  /** Counts the objects whose keys begin with `{prefix}/`, such as those of an account. @throws StorageUnavailableError */
  abstract countUnder(prefix: string): Promise<number>;

  /** Removes the same objects. @returns how many. @throws StorageUnavailableError */
  abstract removeUnder(prefix: string): Promise<number>;

  /** Resolves when the store can be written to. For the readiness check. @throws StorageUnavailableError */
  abstract check(): Promise<void>;
}

/** A store whose keys can be listed, which the service itself never does: for backups. */
export interface ListedStore extends ObjectStore {
  /** The keys that begin with `{folder}/`, in order. @throws StorageUnavailableError */
  list(folder: string): AsyncIterable<string>;
}

/** One or more segments of keys. @throws Error for any other text. */
export function assertKeyFolder(folder: string): void {
  if (folder.length > 300 || !/^[\w-]+(?:\/[\w-]+)*$/.test(folder)) {
    throw new Error(`Invalid folder of keys: ${JSON.stringify(folder)}`);
  }
}

/** The first segment of keys, such as the id of an account. @throws Error for any other text. */
export function assertKeyPrefix(prefix: string): void {
  if (!/^[\w-]{1,64}$/.test(prefix)) throw new Error(`Invalid key prefix: ${JSON.stringify(prefix)}`);
}

/**
 * A key is plain segments and an extension, such as `{tenant}/2026/11/{recording}.webm`. It can neither leave the
 * store's folder nor name a hidden file in it.
 * @throws Error for any other key. The service makes the keys, so that is a defect of the service.
 */
export function assertObjectKey(key: string): void {
  if (key.length > 512 || !/^[\w-]+(?:\/[\w-]+)*\.[a-z\d]+$/i.test(key)) {
    throw new Error(`Invalid object key: ${JSON.stringify(key)}`);
  }
}
