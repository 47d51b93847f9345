import { signal } from '@preact/signals';

import type { UploadItem } from '../uploads/store/upload-item';
import { appendChunks, bytesOf, keepInMemory } from '../uploads/store/upload-store';

/** Writes what the microphone gives to the database, part by part and in order. */
export class ChunkWriter {
  /** True while the database does not take it: then it is only in memory. */
  readonly failing = signal(false);
  private queue: Promise<void> = Promise.resolve();
  private written = 0;
  private unwritten: ArrayBuffer[] = [];

  /**
   * @param item of the database, changed with each part
   * @param onPart receives each part in order, before it is written
   */
  constructor(
    public item: UploadItem,
    private readonly onPart: (bytes: ArrayBuffer) => void = () => {},
  ) {}

  /** @param seconds recorded with this part */
  append(part: Blob, seconds: number): void {
    this.queue = this.write(this.queue, part, seconds);
  }

  /** Waits until what was appended is written. */
  settled(): Promise<void> {
    return this.queue;
  }

  /** Changes what is known of it with the next part. */
  describe(fields: Partial<UploadItem>): void {
    this.item = { ...this.item, ...fields };
  }

  /** Waits until everything is written; what cannot be written is kept in memory. @returns whether all is durable */
  async finish(): Promise<boolean> {
    await this.queue;
    await this.flush();
    if (this.unwritten.length === 0) return true;
    const stored = await bytesOf(this.item).catch(() => new Blob());
    keepInMemory(this.item.id, new Blob([stored, ...this.unwritten], { type: this.item.type }));
    return false;
  }

  private async write(before: Promise<void>, part: Blob, seconds: number): Promise<void> {
    await before;
    const bytes = await part.arrayBuffer();
    this.onPart(bytes);
    this.unwritten.push(bytes);
    this.item = { ...this.item, size: this.item.size + bytes.byteLength, seconds };
    await this.flush();
  }

  private async flush(): Promise<void> {
    const parts = this.unwritten;
    try {
      await appendChunks(this.item, this.written, parts);
      this.written += parts.length;
      this.unwritten = [];
      this.failing.value = false;
    } catch {
      // A full disk may have room again with the next part.
      this.failing.value = true;
    }
  }
}
