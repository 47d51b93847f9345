import type { SpoolFile } from './spool.js';

/**
 * Where audio objects live. One bucket per service; keys are relative paths such as
 * `{tenant}/2026/11/{recording}.webm` and never contain anything a client chose.
 */
export abstract class ObjectStore {
  /** Shown to clients as `s3_bucket`, also when objects lie on a local disk (D25). */
  abstract readonly bucket: string;

  /**
   * Takes over what was written to a file of the spool: when the promise resolves, the object is durable under `key`.
   * The caller discards the file in any case.
   * @param noted resolves once a crash would leave no orphan; before that nothing stands under `key`.
   * @throws StorageUnavailableError when the store cannot be reached or is full; then nothing is kept.
   */
  abstract put(key: string, file: SpoolFile, noted?: Promise<void>): Promise<void>;

  /**
   * Runs `use` with a local, seekable copy of the object and clears it away afterwards.
   * @throws ObjectNotFoundError when there is no such object, StorageUnavailableError when the store cannot be reached.
   */
  abstract withFile<T>(key: string, use: (file: string) => Promise<T>): Promise<T>;

  /** Removes the object; an object that is not there is no error. @throws StorageUnavailableError */
  abstract remove(key: string): Promise<void>;

  /** Resolves when the store can be written to; used by readiness. @throws StorageUnavailableError */
  abstract check(): Promise<void>;
}
