/** The part of a FileHandle that the probes need; tests use a buffer instead. */
export interface ReadableFile {
  read(buffer: Buffer, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
}

/** Twice the largest Ogg page (65,307 bytes). A probe uses no other memory. */
const WINDOW_BYTES = 128 * 1024;

/**
 * A forward-moving view of a file, for parsers that trust no length in it: beyond the end of the file it reads zeros,
 * so no accessor can fail. Moving the view is asynchronous, so a parser runs without a pause only within one view.
 *
 * The accessors take a position in the file; the caller checks with `holds`, and calls `moveTo`, that it is in view.
 */
export class FileWindow {
  private readonly bytes: Buffer;
  private start = 0;
  private end = 0;

  constructor(
    private readonly file: ReadableFile,
    /** Bytes in the file. */
    readonly size: number,
    capacity = WINDOW_BYTES,
  ) {
    this.bytes = Buffer.alloc(capacity);
  }

  holds(position: number, length: number): boolean {
    const wanted = position + length;
    if (position < this.start || wanted > this.start + this.bytes.length) return false;
    return wanted <= this.end || this.end >= this.size;
  }

  async moveTo(position: number): Promise<void> {
    const length = Math.max(0, Math.min(this.bytes.length, this.size - position));
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await this.file.read(this.bytes, filled, length - filled, position + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    this.bytes.fill(0, filled);
    this.start = position;
    this.end = position + length;
  }

  u8(position: number): number {
    return this.bytes[position - this.start] ?? 0;
  }

  u16le(position: number): number {
    return this.u8(position) | (this.u8(position + 1) << 8);
  }

  u32le(position: number): number {
    return (this.u16le(position) | (this.u16le(position + 2) << 16)) >>> 0;
  }

  u16be(position: number): number {
    return (this.u8(position) << 8) | this.u8(position + 1);
  }

  u32be(position: number): number {
    const i = position - this.start;
    const bytes = this.bytes;
    return (
      (((bytes[i] ?? 0) << 24) | ((bytes[i + 1] ?? 0) << 16) | ((bytes[i + 2] ?? 0) << 8) | (bytes[i + 3] ?? 0)) >>> 0
    );
  }

  /** An unsigned big-endian number of up to 8 bytes; above 2^53 it is approximate. */
  uintBe(position: number, length: number): number {
    let value = 0;
    for (let i = 0; i < length; i++) value = value * 256 + this.u8(position + i);
    return value;
  }

  /** A big-endian IEEE 754 number of 4 or 8 bytes; any other length is 0. */
  floatBe(position: number, length: number): number {
    const i = position - this.start;
    if (length === 4) return this.bytes.readFloatBE(i);
    return length === 8 ? this.bytes.readDoubleBE(i) : 0;
  }

  latin1(position: number, length: number): string {
    const i = position - this.start;
    return this.bytes.toString('latin1', i, i + length);
  }

  /** Moves on to where `marker` next begins, at `from` or behind it, and returns that position, or the file's size. */
  async seek(marker: Buffer, from: number): Promise<number> {
    for (let position = from; position < this.size; position = this.end - marker.length + 1) {
      if (!this.holds(position, marker.length)) await this.moveTo(position);
      const found = this.bytes.indexOf(marker, position - this.start);
      if (found >= 0) return this.start + found;
      if (this.end >= this.size) break;
    }
    return this.size;
  }
}
