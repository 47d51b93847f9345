import { open } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { StorageUnavailableError } from './storage-errors.js';

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
