/** The format of decoded audio everywhere: 16 kHz, mono, signed 16-bit little-endian. */
export const SAMPLES_PER_SECOND = 16_000;
export const BYTES_PER_SAMPLE = 2;
export const BYTES_PER_SECOND = SAMPLES_PER_SECOND * BYTES_PER_SAMPLE;

/** A queue of bytes, added and taken in buffers of different sizes. Copies them once, when they are taken. */
export class ByteQueue {
  private buffers: Buffer[] = [];
  length = 0;

  push(buffer: Buffer): void {
    this.buffers.push(buffer);
    this.length += buffer.length;
  }

  /** Returns bytes that were taken: they are the next. */
  putBack(buffer: Buffer): void {
    this.buffers.unshift(buffer);
    this.length += buffer.length;
  }

  /** Takes up to this many bytes. */
  take(bytes: number): Buffer {
    const wanted = Math.min(bytes, this.length);
    const taken: Buffer[] = [];
    for (let missing = wanted; missing > 0;) {
      const buffer = this.buffers.shift() ?? Buffer.alloc(0);
      taken.push(buffer.subarray(0, missing));
      if (buffer.length > missing) this.buffers.unshift(buffer.subarray(missing));
      missing -= Math.min(missing, buffer.length);
    }
    this.length -= wanted;
    return Buffer.concat(taken);
  }
}
