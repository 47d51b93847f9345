import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { type ByteRange, lengthOf, StorageUnavailableError } from '../storage/file-system.js';

/** A file that is sent, whole or in ranges. */
export interface SentFile {
  size: number;
  contentType: string;
  open: (range: ByteRange, signal: AbortSignal) => Promise<Readable>;
  /** Called with the number of bytes of each part that was read. */
  onBytes: (count: number) => void;
}

/** One range with what stands before it, which is empty unless there are several. */
interface Part {
  head: string;
  range: ByteRange;
}

/**
 * Sends the ranges of a file: one as itself, several as `multipart/byteranges` (RFC 9110 §14.6). Nothing is sent before
 * the first can be read, so that an error can still be answered. At most one chunk is read ahead of the client, and the
 * file is closed as soon as the client is gone.
 * @param ranges null for the whole file
 * @throws ObjectNotFoundError, StorageUnavailableError
 */
export async function sendFile(response: Response, file: SentFile, ranges: readonly ByteRange[] | null): Promise<void> {
  const [first = wholeOf(file), ...others] = ranges ?? [];
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  try {
    let source: Readable | null = await file.open(first, closed.signal);
    const { parts, tail } = describeParts(response, file, [first, ...others], ranges !== null);
    for (const { head, range } of parts) {
      source ??= await file.open(range, closed.signal);
      if (head !== '') response.write(head);
      await sendRange(response, source, file, range);
      source = null;
    }
    response.end(tail);
  } catch (error) {
    // A client that has left is no error.
    if (!closed.signal.aborted) throw error;
  }
}

/**
 * Sends the headers of the whole file: `Range` has no meaning for HEAD (§14.2). One byte is read, so that the answer is
 * that of GET when the file is missing.
 * @throws ObjectNotFoundError, StorageUnavailableError
 */
export async function sendHead(response: Response, file: SentFile): Promise<void> {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  try {
    (await file.open({ start: 0, end: 0 }, closed.signal)).destroy();
    describeParts(response, file, [wholeOf(file)], false);
    response.end();
  } catch (error) {
    if (!closed.signal.aborted) throw error;
  }
}

const wholeOf = ({ size }: SentFile): ByteRange => ({ start: 0, end: size - 1 });

async function sendRange(response: Response, source: Readable, file: SentFile, range: ByteRange): Promise<void> {
  const read = (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> => counted(chunks, file, range);
  await pipeline(source, read, response, { end: false });
}

/** A response that is shorter than its Content-Length would keep the client waiting, and mix up those after it. */
async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  file: SentFile,
  range: ByteRange,
): AsyncGenerator<Uint8Array> {
  let left = lengthOf(range);
  for await (const chunk of chunks) {
    left -= chunk.length;
    if (left < 0) break;
    file.onBytes(chunk.length);
    yield chunk;
  }
  if (left !== 0) throw new StorageUnavailableError(`an object has ${left > 0 ? 'fewer' : 'more'} bytes than recorded`);
}

/** Sets the headers, which are sent with the first byte. */
function describeParts(
  response: Response,
  { size, contentType }: SentFile,
  ranges: readonly [ByteRange, ...ByteRange[]],
  isPartial: boolean,
): { parts: Part[]; tail: string } {
  const contentRange = ({ start, end }: ByteRange): string => `bytes ${start}-${end}/${size}`;
  response.status(isPartial ? 206 : 200);
  if (ranges.length === 1) {
    const [range] = ranges;
    response.setHeader('Content-Type', contentType);
    response.setHeader('Content-Length', lengthOf(range));
    if (isPartial) response.setHeader('Content-Range', contentRange(range));
    return { parts: [{ head: '', range }], tail: '' };
  }
  const boundary = randomBytes(16).toString('hex');
  const parts = ranges.map((range, i) => ({
    range,
    head:
      `${i === 0 ? '' : '\r\n'}--${boundary}\r\n` +
      `Content-Type: ${contentType}\r\nContent-Range: ${contentRange(range)}\r\n\r\n`,
  }));
  const tail = `\r\n--${boundary}--\r\n`;
  const bytes = parts.reduce((sum, { head, range }) => sum + head.length + lengthOf(range), tail.length);
  response.setHeader('Content-Type', `multipart/byteranges; boundary=${boundary}`);
  response.setHeader('Content-Length', bytes);
  return { parts, tail };
}

/** What a quoted `filename` cannot hold, or browsers read differently (RFC 6266, appendix D). */
const NOT_PLAIN = /[^\x20-\x7e]|["%\\/:*?<>|;]/gu;
/** `attr-char` of RFC 8187; all other bytes are percent-encoded. */
const ATTRIBUTE_CHARACTER = /^[A-Za-z0-9!#$&+.^_`|~-]$/;

/**
 * The header with a name that a client chose: in ASCII for old clients, and whole as RFC 8187 writes it. Nothing in the
 * name can end the parameter, the header or the path.
 */
export function contentDisposition(type: 'attachment' | 'inline', filename: string): string {
  const plain = filename.replace(NOT_PLAIN, '_');
  const encoded = Array.from(Buffer.from(filename.toWellFormed()), encodeByte).join('');
  return `${type}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

function encodeByte(byte: number): string {
  const character = String.fromCharCode(byte);
  return ATTRIBUTE_CHARACTER.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}
