import { Readable } from 'node:stream';
import { type ByteRange, lengthOf, StorageUnavailableError } from './file-system.js';

/**
 * Milliseconds that a response of S3 is kept while the reader takes nothing. A slow reader then costs a new request
 * each time it goes on, instead of one of the few connections for as long as it likes.
 */
const KEPT_MS = 2000;

export interface RangeRequests {
  /** Begins one request. Its body ends with an error when nothing arrives for too long. */
  fetch(range: ByteRange, signal: AbortSignal): Promise<Readable>;
  /** Milliseconds that the store may let a reader wait for its next bytes. */
  stallMs: number;
}

/**
 * A range of an object in S3 as a stream that holds at most one chunk of a socket. Resolves when the first response has
 * begun. Destroying the stream, or the signal, ends the request under way at once.
 */
export async function readRange(requests: RangeRequests, range: ByteRange, signal?: AbortSignal): Promise<Readable> {
  const closed = new AbortController();
  const ended = signal ? AbortSignal.any([signal, closed.signal]) : closed.signal;
  const first = await requests.fetch(range, ended);
  const stream = Readable.from(chunksOf(requests, range, first, ended), { highWaterMark: 1 });
  stream.once('close', () => {
    first.destroy();
    closed.abort();
  });
  return stream;
}

/** A response under way. */
interface Response {
  body: Readable;
  chunks: AsyncIterator<Uint8Array, undefined>;
}

const responseOf = (body: Readable): Response => ({
  body,
  chunks: body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>,
});

async function* chunksOf(
  requests: RangeRequests,
  range: ByteRange,
  first: Readable,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let response: Response | null = responseOf(first);
  let position = range.start;
  const drop = (): void => {
    response?.body.destroy();
    response = null;
  };
  signal.addEventListener('abort', drop, { once: true });
  try {
    while (position <= range.end) {
      signal.throwIfAborted();
      response ??= responseOf(await requests.fetch({ start: position, end: range.end }, signal));
      const chunk = await nextChunk(response, requests.stallMs);
      position += chunk.length;
      const unread = setTimeout(drop, KEPT_MS).unref();
      yield chunk;
      clearTimeout(unread);
    }
  } finally {
    signal.removeEventListener('abort', drop);
    drop();
  }
}

/** @throws StorageUnavailableError when the body ends, or nothing of it arrives for `stallMs`. */
async function nextChunk({ body, chunks }: Response, stallMs: number): Promise<Uint8Array> {
  const timeout = setTimeout(() => body.destroy(new Error(`nothing arrived for ${stallMs} ms`)), stallMs);
  try {
    const { value } = await chunks.next();
    if (value === undefined) throw new Error('the object ended early');
    return value;
  } catch (error) {
    throw new StorageUnavailableError(`S3, reading: ${(error as Error).message}`, { cause: error });
  } finally {
    clearTimeout(timeout);
  }
}

/** Whether a response with these headers holds exactly the range. A server may ignore it, or have a shorter object. */
export function isRangeOf(range: ByteRange, contentRange: string | undefined, length: number | undefined): boolean {
  return length === lengthOf(range) && (contentRange ?? '').startsWith(`bytes ${range.start}-${range.end}/`);
}
