/** A stream of a file's bytes, as Node and browsers have them. */
export type ByteStream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/**
 * A stream that can be read more than once, because what was read is kept. A voice note has at most 25 MB: the service
 * refuses more while it arrives.
 */
export class KeptStream {
  private readonly kept: Uint8Array[] = [];
  private readonly next: () => Promise<IteratorResult<Uint8Array, unknown>>;
  private readonly end: () => unknown;
  private reading: Promise<void> | null = null;
  private isDone = false;

  constructor(source: ByteStream) {
    // Safari's streams are not iterable.
    if (isReadableStream(source)) {
      const reader = source.getReader();
      this.next = () => reader.read();
      this.end = () => reader.cancel();
    } else {
      const iterator = source[Symbol.asyncIterator]();
      this.next = () => iterator.next();
      // A stream of Node ends at once, an iterator only when it has given what it was asked for.
      this.end = () => ('destroy' in source ? (source as { destroy: () => unknown }).destroy() : iterator.return?.());
    }
  }

  /** From its beginning. */
  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    for (let i = 0; ; i += 1) {
      if (i === this.kept.length && !this.isDone) await this.readOne();
      const chunk = this.kept[i];
      if (!chunk) return;
      yield chunk;
    }
  }

  /** All of it. */
  async blob(): Promise<Blob> {
    const parts: BlobPart[] = [];
    for await (const chunk of this.chunks()) parts.push(chunk as BlobPart);
    return new Blob(parts);
  }

  /** Nothing more is read: files and connections behind the stream are closed. */
  close(): void {
    if (!this.isDone) void Promise.resolve(this.end()).catch(() => {});
  }

  /** A read that an earlier attempt began is the one to wait for. */
  private readOne(): Promise<void> {
    this.reading ??= this.keepOne();
    return this.reading;
  }

  private async keepOne(): Promise<void> {
    const { done, value } = await this.next();
    if (done) this.isDone = true;
    else this.kept.push(bytesOf(value));
    this.reading = null;
  }
}

export function isReadableStream(source: unknown): source is ReadableStream<Uint8Array> {
  return typeof (source as ReadableStream | null)?.getReader === 'function';
}

function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  throw new TypeError('A stream of audio must give bytes (Uint8Array).');
}
