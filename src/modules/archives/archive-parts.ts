import { Readable } from 'node:stream';
import type { ByteRange } from '../../platform/storage/file-system.js';
import type { ObjectStore } from '../../platform/storage/object-store.js';
import type { Spool, SpoolFile } from '../../platform/storage/spool.js';

/** An archive is stored in objects of this size; the last one is smaller. */
const PART_BYTES = 16 * 1024 * 1024;

const partKey = (prefix: string, part: number): string => `${prefix}/${part}.tar`;

/** The prefix of an archive that is to be stored, from that of its keys without encryption. @throws StorageUnavailableError */
export async function partsPrefix(store: ObjectStore, prefix: string): Promise<string> {
  const key = await store.keyFor(partKey(prefix, 0));
  return key.slice(0, key.lastIndexOf('/'));
}

/** Stores bytes in parts. */
export class PartsWriter {
  sizeBytes = 0;
  /** How many have been begun. */
  count = 0;
  private file: SpoolFile | null = null;

  /** @param reserve puts the key of a part on the list of objects to remove. @throws when the parts are not wanted any more */
  constructor(
    private readonly store: ObjectStore,
    private readonly spool: Spool,
    private readonly prefix: string,
    private readonly reserve: (part: number, key: string) => Promise<void>,
  ) {}

  async write(bytes: Uint8Array): Promise<void> {
    for (let rest = bytes; rest.length > 0;) {
      this.file ??= await this.spool.create();
      const fitting = rest.subarray(0, PART_BYTES - this.file.sizeBytes);
      await this.file.write(fitting);
      this.sizeBytes += fitting.length;
      rest = rest.subarray(fitting.length);
      if (this.file.sizeBytes === PART_BYTES) await this.flush();
    }
  }

  /** Stores the part that is not full. */
  async end(): Promise<void> {
    if (this.file) await this.flush();
  }

  async discard(): Promise<void> {
    await this.file?.discard();
    this.file = null;
  }

  private async flush(): Promise<void> {
    if (!this.file) return;
    const part = this.count++;
    const key = partKey(this.prefix, part);
    await this.reserve(part, key);
    await this.store.put(key, this.file);
    await this.discard();
  }
}

/** A range of what was stored. The first bytes can be read when it resolves. @throws ObjectNotFoundError, StorageUnavailableError */
export async function readParts(
  store: ObjectStore,
  prefix: string,
  { start, end }: ByteRange,
  signal: AbortSignal,
): Promise<Readable> {
  const open = async (part: number): Promise<Readable> => {
    const from = part * PART_BYTES;
    const range = { start: Math.max(start - from, 0), end: Math.min(end - from, PART_BYTES - 1) };
    return await store.read(partKey(prefix, part), range, signal);
  };
  const first = Math.floor(start / PART_BYTES);
  const opened = await open(first);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield* opened as AsyncIterable<Uint8Array>;
    for (let part = first + 1; part * PART_BYTES <= end; part++) yield* (await open(part)) as AsyncIterable<Uint8Array>;
  }
  const stream = Readable.from(chunks(), { objectMode: false });
  // Also before the first of it is read.
  stream.once('close', () => opened.destroy());
  return stream;
}
