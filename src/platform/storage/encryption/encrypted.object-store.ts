import { createReadStream } from 'node:fs';
import { addAbortSignal, Readable } from 'node:stream';
import type { OnApplicationShutdown } from '@nestjs/common';
import { type ByteRange, StorageUnavailableError } from '../file-system.js';
import { ObjectStore } from '../object-store.js';
import type { Spool, SpoolFile } from '../spool.js';
import { accountOf, encryptedKeyOf, plainKeyOf, readEncryptedKey } from './encrypted-key.js';
import { HEADER_BYTES, ObjectCipher, ObjectDamagedError } from './object-format.js';
import type { StorageKeysService } from './storage-keys.service.js';

const HEADER: ByteRange = { start: 0, end: HEADER_BYTES - 1 };

/**
 * Encrypts the objects of another store. The key of an object says whether it is encrypted, so that both kinds are read
 * side by side, whether new ones are encrypted or not.
 */
export class EncryptedObjectStore extends ObjectStore implements OnApplicationShutdown {
  constructor(
    /** Holds what is stored as it is. */
    private readonly raw: ObjectStore & Partial<OnApplicationShutdown>,
    private readonly keys: Pick<StorageKeysService, 'current' | 'keyOf'>,
    private readonly spool: Spool,
    private readonly encryptsNew: boolean,
  ) {
    super();
  }

  get bucket(): string {
    return this.raw.bucket;
  }

  override async keyFor(key: string): Promise<string> {
    const plain = plainKeyOf(key);
    return this.encryptsNew ? encryptedKeyOf(plain, await this.keys.current(accountOf(plain))) : plain;
  }

  async put(key: string, file: SpoolFile, reserved?: Promise<void>): Promise<void> {
    const encrypted = readEncryptedKey(key);
    if (!encrypted) return await this.raw.put(key, file, reserved);
    await this.spool.withFile(async (stored) => {
      const accountKey = await this.keys.keyOf(encrypted);
      await ObjectCipher.create(accountKey, encrypted.version, file.sizeBytes, key).encrypt(file, stored);
      await this.raw.put(key, stored, reserved);
    });
  }

  /** The copy that is given away is not encrypted. */
  async withFile<T>(key: string, use: (file: string) => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (!readEncryptedKey(key)) return await this.raw.withFile(key, use, signal);
    return await this.spool.withFile(async (copy) => {
      await this.raw.withFile(key, (file) => this.decryptFile(key, file, copy), signal);
      signal?.throwIfAborted();
      return await use(copy.path);
    });
  }

  override async read(key: string, range?: ByteRange, signal?: AbortSignal): Promise<Readable> {
    if (!readEncryptedKey(key)) return await this.raw.read(key, range, signal);
    const cipher = await this.openObject(key, await bytesOf(await this.raw.read(key, HEADER, signal)));
    const audio = range ?? { start: 0, end: cipher.size - 1 };
    if (audio.end >= Math.max(1, cipher.size))
      throw new StorageUnavailableError(`an object has only ${cipher.size} bytes`);
    const stored = await this.raw.read(key, cipher.storedRange(audio), signal);
    const chunks = cipher.decrypt(stored, audio, key);
    try {
      // The reader has its first bytes, or an error in time for an answer.
      const { value: first } = await chunks.next();
      return streamOf(first, chunks, stored, signal);
    } catch (error) {
      stored.destroy();
      throw error;
    }
  }

  async remove(key: string): Promise<void> {
    await this.raw.remove(key);
  }

  async countUnder(prefix: string): Promise<number> {
    return await this.raw.countUnder(prefix);
  }

  async removeUnder(prefix: string): Promise<number> {
    return await this.raw.removeUnder(prefix);
  }

  async check(): Promise<void> {
    await this.raw.check();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.raw.onApplicationShutdown?.();
  }

  private async decryptFile(key: string, file: string, copy: SpoolFile): Promise<void> {
    const cipher = await this.openObject(key, await bytesOf(createReadStream(file, HEADER)));
    const stored = createReadStream(file, { start: HEADER_BYTES });
    for await (const audio of cipher.decrypt(stored, { start: 0, end: cipher.size - 1 }, key)) await copy.write(audio);
  }

  private async openObject(key: string, header: Buffer): Promise<ObjectCipher> {
    const encrypted = readEncryptedKey(key);
    if (!encrypted) throw new ObjectDamagedError(`Not the key of an encrypted object: ${key}`);
    return ObjectCipher.open(await this.keys.keyOf(encrypted), encrypted.version, header, key);
  }
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  return Buffer.concat((await stream.toArray()) as Uint8Array[]);
}

/** Ends the read of the store with it. Holds one chunk. */
function streamOf(
  first: Buffer | undefined,
  rest: AsyncGenerator<Buffer>,
  stored: Readable,
  signal?: AbortSignal,
): Readable {
  const all = async function* (): AsyncGenerator<Buffer> {
    if (first && first.length > 0) yield first;
    yield* rest;
  };
  const stream = Readable.from(all(), { highWaterMark: 1 });
  stream.once('close', () => stored.destroy());
  return signal ? addAbortSignal(signal, stream) : stream;
}
