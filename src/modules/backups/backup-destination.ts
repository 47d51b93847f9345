import { hash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { retry } from '../../platform/concurrency/retry.js';
import { type Env, InvalidEnvironmentError } from '../../platform/config/env.js';
import { DiskObjectStore } from '../../platform/storage/disk.object-store.js';
import { ignoreAbsent, StorageUnavailableError } from '../../platform/storage/file-system.js';
import type { ListedStore } from '../../platform/storage/object-store.js';
import { Spool } from '../../platform/storage/spool.js';
import {
  type BackupFile,
  type BackupManifest,
  InvalidBackupError,
  parseManifest,
  serializeManifest,
  sumOfChunks,
} from './backup-format.js';

/** A part of the rows of a table. An object of S3 has at most 5 GB. */
const PART_BYTES = 64 * 1024 * 1024;
/** Files of a backup that was interrupted go after this time, in seconds. */
const SPOOLED_SECONDS = 24 * 60 * 60;
const ATTEMPTS = 4;
const RETRY_MS = 500;

const waitForStore = (error: unknown, attempt: number): number | null =>
  error instanceof StorageUnavailableError && attempt < ATTEMPTS ? RETRY_MS * 2 ** attempt : null;

/** Again, as long as it is the store that fails. @throws StorageUnavailableError in the end */
export const retryStore = <T>(work: () => Promise<T>): Promise<T> => retry(work, waitForStore);

/** What the destination holds of one backup. */
export interface FoundBackup {
  id: string;
  isComplete: boolean;
  /** Keys of its files. */
  files: string[];
}

/**
 * Where backups are stored: `objects/` has the objects of all of them, `backups/{id}/` what one has of its own, and
 * `erasures/` what was erased since.
 */
export class BackupDestination {
  constructor(
    /** For messages. */
    readonly location: string,
    private readonly store: ListedStore & { onApplicationShutdown?(): void },
    private readonly spool: Spool,
    /** Empty, or what every key begins with. */
    private readonly prefix: string,
  ) {}

  /**
   * @param location a folder, which must exist, or `s3://bucket/prefix`
   * @throws InvalidEnvironmentError, StorageUnavailableError
   */
  static async open(env: Env, location: string): Promise<BackupDestination> {
    if (!location.startsWith('s3://')) return await openFolder(resolve(location));
    const [, bucket, path = ''] = /^s3:\/\/([\w.-]+)(?:\/(.*?))?\/?$/.exec(location) ?? [];
    if (!bucket || !/^(?:[\w-]+(?:\/[\w-]+)*)?$/.test(path)) {
      throw new InvalidEnvironmentError([
        'BACKUP_DESTINATION must be a folder, or s3://bucket/prefix with a prefix of letters, digits, - and _',
      ]);
    }
    const spool = new Spool(join(env.storageDir, 'spool'));
    await spool.prepare();
    const { S3ObjectStore } = await import('../../platform/storage/s3.object-store.js');
    const store = new S3ObjectStore({ ...env, ...s3SettingsOf(env), s3Bucket: bucket }, spool);
    return new BackupDestination(location, store, spool, path && `${path}/`);
  }

  close(): void {
    this.store.onApplicationShutdown?.();
  }

  /** @throws InvalidBackupError when there is none */
  async manifest(id: string): Promise<BackupManifest> {
    return parseManifest(id, (await this.contentOf(manifestKey(id))).toString());
  }

  /** From the oldest to the newest; those that were interrupted, too. */
  async backups(): Promise<FoundBackup[]> {
    const found = new Map<string, FoundBackup>();
    for await (const key of this.list('backups')) {
      const id = key.split('/')[1] as string;
      const backup = found.get(id) ?? { id, isComplete: false, files: [] };
      backup.files.push(key);
      backup.isComplete ||= key === manifestKey(id);
      found.set(id, backup);
    }
    return [...found.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  async *list(folder: string): AsyncGenerator<string> {
    for await (const key of this.store.list(this.prefix + folder)) yield key.slice(this.prefix.length);
  }

  async writeManifest(manifest: BackupManifest): Promise<void> {
    await this.write(manifestKey(manifest.id), Buffer.from(serializeManifest(manifest)));
  }

  async write(key: string, content: Uint8Array): Promise<BackupFile> {
    return await this.writeFrom(key, [content]);
  }

  /** Stores what comes as one object. */
  async writeFrom(key: string, chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<BackupFile> {
    return await this.spool.withFile(async (file) => {
      const sha256 = await sumOfChunks(chunks, file);
      await retryStore(() => this.store.put(this.prefix + key, file));
      return { key, bytes: file.sizeBytes, sha256 };
    });
  }

  /** Stores what comes in parts. @param keyOf the key of each, from 1 on */
  async writeParts(keyOf: (part: number) => string, chunks: AsyncIterable<Uint8Array>): Promise<BackupFile[]> {
    const written: BackupFile[] = [];
    const iterator = chunks[Symbol.asyncIterator]();
    let left: Uint8Array | null = null;
    let isAtEnd = false;
    async function* nextPart(): AsyncGenerator<Uint8Array> {
      for (let bytes = 0; bytes < PART_BYTES;) {
        const chunk: Uint8Array | undefined = left ?? (await iterator.next()).value;
        left = null;
        if (chunk === undefined) {
          isAtEnd = true;
          return;
        }
        bytes += chunk.length;
        yield chunk;
      }
      const next = await iterator.next();
      if (next.done) isAtEnd = true;
      else left = next.value;
    }
    while (!isAtEnd) written.push(await this.writeFrom(keyOf(written.length + 1), nextPart()));
    return written;
  }

  async read(key: string): Promise<Readable> {
    return await retryStore(() => this.store.read(this.prefix + key));
  }

  /** The whole of a small file. */
  async contentOf(key: string): Promise<Buffer> {
    return await retryStore(async () => Buffer.concat(await (await this.store.read(this.prefix + key)).toArray()));
  }

  /** The content of a file that must be as it was written. @throws InvalidBackupError, ObjectNotFoundError */
  async verifiedContentOf(file: BackupFile): Promise<Buffer> {
    const content = await this.contentOf(file.key);
    if (hash('sha256', content, 'hex') !== file.sha256) throw damaged(file.key);
    return content;
  }

  /** Reads all of it. @throws InvalidBackupError, ObjectNotFoundError */
  async verify(file: BackupFile): Promise<void> {
    await retryStore(async () => {
      const sum = await sumOfChunks(await this.store.read(this.prefix + file.key));
      if (sum !== file.sha256) throw damaged(file.key);
    });
  }

  async remove(key: string): Promise<void> {
    await retryStore(() => this.store.remove(this.prefix + key));
  }
}

const damaged = (key: string): InvalidBackupError => new InvalidBackupError(`${key} is damaged.`);

export const manifestKey = (id: string): string => `backups/${id}/manifest.json`;

/** Where all backups have an object of the store. */
export const backupKeyOf = (objectKey: string): string => `objects/${objectKey}`;

/** A folder that is not there may be on a disk that is not mounted: it is not created. */
async function openFolder(folder: string): Promise<BackupDestination> {
  const found = await stat(folder).catch(ignoreAbsent);
  if (!found?.isDirectory()) {
    throw new InvalidBackupError(`There is no folder ${folder}. Create it, or mount the disk that it is on.`);
  }
  // On the same file system, because files are moved into their places.
  const spool = new Spool(join(folder, 'spool'));
  await spool.prepare();
  await spool.sweep(SPOOLED_SECONDS);
  return new BackupDestination(folder, new DiskObjectStore(folder, 'backups'), spool, '');
}

/** Those of the object store, unless one is set for backups: then none of the others is used. */
function s3SettingsOf(env: Env) {
  const { backupS3Endpoint, backupS3Region, backupS3AccessKeyId, backupS3SecretAccessKey } = env;
  const own = [backupS3Endpoint, backupS3Region, backupS3AccessKeyId, backupS3SecretAccessKey];
  if (own.every((value) => value === null)) return {};
  return {
    s3Endpoint: backupS3Endpoint,
    s3Region: backupS3Region ?? 'us-east-1',
    s3AccessKeyId: backupS3AccessKeyId,
    s3SecretAccessKey: backupS3SecretAccessKey,
  };
}
