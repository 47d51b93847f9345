/** Bytes that come in chunks of one size and are taken in another, copied once when they are taken. */
export class ByteQueue {
  private chunks: Buffer[] = [];
  length = 0;

  push(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.length += chunk.length;
  }

  /** Takes so many bytes, or all there are when there are fewer. */
  take(bytes: number): Buffer {
    const wanted = Math.min(bytes, this.length);
    const taken: Buffer[] = [];
    for (let missing = wanted; missing > 0;) {
      const chunk = this.chunks.shift() ?? Buffer.alloc(0);
      taken.push(chunk.subarray(0, missing));
      if (chunk.length > missing) this.chunks.unshift(chunk.subarray(missing));
      missing -= Math.min(missing, chunk.length);
    }
    this.length -= wanted;
    return Buffer.concat(taken);
  }
}
