import type { PartOfText } from '../../recordings/recordings.events.js';
import type { WrittenText } from '../partial-texts.service.js';

/** A chunk with speech, in the order of the recording. */
export interface HeardChunk {
  /** Seconds from the start of the recording. */
  start: number;
  end: number;
  text: string;
  /** Whether no other chunk is known yet. */
  isOnly: boolean;
}

/**
 * Of audio, in seconds. A part also holds at least a fiftieth of what was before it, so that ten hours have about two
 * hundred parts.
 */
const MIN_SECONDS = 15;
const MIN_SHARE = 0.02;
/** Rounding of times. */
const TOLERANCE_SECONDS = 0.01;

interface Storage {
  written: () => Promise<WrittenText>;
  /** @returns false when another worker has written a part with this index, or the lease is lost. */
  write: (part: PartOfText) => Promise<boolean>;
  failed: (error: unknown) => void;
}

/** Gathers the chunks of one run into parts, which are written one after the other. */
export class PartialTextWriter {
  private chunks: HeardChunk[] = [];
  private known: WrittenText | null = null;
  private writing: Promise<void> | null = null;

  constructor(private readonly storage: Storage) {}

  add(chunk: HeardChunk): void {
    // Another engine has begun again.
    if (chunk.start <= (this.chunks.at(-1)?.start ?? -1)) this.chunks = [];
    this.chunks.push(chunk);
    if (!chunk.isOnly && this.writing === null && this.isDue) this.writing = this.writeWhatIsDue();
  }

  /** Writes what is left of a note that has parts. */
  async end(): Promise<void> {
    await this.writing;
    if ((this.known?.parts ?? 0) > 0) await this.write();
  }

  private get isDue(): boolean {
    const [first] = this.chunks;
    if (!first) return false;
    return (this.chunks.at(-1) as HeardChunk).end - first.start >= Math.max(MIN_SECONDS, first.start * MIN_SHARE);
  }

  private async writeWhatIsDue(): Promise<void> {
    let isWritten = true;
    while (isWritten && this.isDue) isWritten = await this.write();
    this.writing = null;
  }

  /** What cannot be written now is a part of the next. */
  private async write(): Promise<boolean> {
    const taken = this.chunks.splice(0);
    try {
      this.known ??= await this.storage.written();
      const { parts, end: writtenTo } = this.known;
      // An earlier attempt has written the others.
      const fresh = taken.filter(({ end }) => end > writtenTo + TOLERANCE_SECONDS);
      const [first] = fresh;
      if (!first) return true;
      const { end } = fresh.at(-1) as HeardChunk;
      const part = { index: parts, start: first.start, end, text: fresh.map(({ text }) => text).join(' ') };
      if (await this.storage.write(part)) {
        this.known = { parts: parts + 1, end };
        return true;
      }
      this.known = null;
    } catch (error) {
      this.storage.failed(error);
    }
    const next = this.chunks[0]?.start ?? Infinity;
    this.chunks.unshift(...taken.filter(({ end }) => end <= next + TOLERANCE_SECONDS));
    return false;
  }
}
