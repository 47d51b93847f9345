import { retryWhileUnavailable } from '../../../platform/database/unavailable.js';

/** What comes within this time is stored together. */
const GATHER_MS = 100;
/** As much is stored at once, without waiting for more. */
export const PART_BYTES = 64 * 1024;
/** While more than this is held, nothing more is read. */
export const MAX_HELD_BYTES = 1024 * 1024;
const OBJECT_BYTES = 100;
/** How long a part is tried again while Postgres is unavailable. */
const STORE_MS = 10_000;

/** Stores audio at a position of its recording. @returns the bytes that are stored now. */
type Append = (byteOffset: number, audio: Buffer) => Promise<number>;

interface AudioWriterEvents {
  /** Everything before this position is durable. */
  onStored: (bytes: number) => void;
  /** Nothing more is stored. */
  onError: (error: unknown) => void;
}

/** Stores the audio of one connection in its order, in parts of at least 100 ms or 64 KB. */
export class AudioWriter {
  private waiting: Buffer[] = [];
  private waitingBytes = 0;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | null = null;
  private readonly stopping = new AbortController();

  /** @param position bytes of the recording that are stored. */
  constructor(
    private position: number,
    private readonly append: Append,
    private readonly events: AudioWriterEvents,
  ) {}

  /** Memory that what is not stored takes: also parts of one byte have an object each. */
  get held(): number {
    return this.waitingBytes + this.waiting.length * OBJECT_BYTES;
  }

  private get stopped(): boolean {
    return this.stopping.signal.aborted;
  }

  add(audio: Buffer): void {
    if (this.stopped || audio.length === 0) return;
    this.waiting.push(audio);
    this.waitingBytes += audio.length;
    if (this.running) return;
    if (this.waitingBytes >= PART_BYTES) this.start();
    else this.timer ??= setTimeout(() => this.start(), GATHER_MS);
  }

  /** Resolves once everything is stored, or nothing more will be. */
  async flush(): Promise<void> {
    while (!this.stopped && this.waitingBytes > 0) {
      this.start();
      await this.running;
    }
  }

  /** What is not stored yet is dropped. */
  stop(): void {
    this.stopping.abort();
    clearTimeout(this.timer);
    this.waiting = [];
    this.waitingBytes = 0;
  }

  private start(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.stopped || this.waitingBytes === 0) return;
    this.running ??= this.run().finally(() => {
      this.running = null;
      if (this.waitingBytes > 0 && !this.stopped) this.timer ??= setTimeout(() => this.start(), GATHER_MS);
    });
  }

  /** Ends with less than a part left, which waits for more. */
  private async run(): Promise<void> {
    do {
      const part = Buffer.concat(this.waiting.splice(0));
      try {
        await this.store(part);
      } catch (error) {
        const wasStopped = this.stopped;
        this.stop();
        if (!wasStopped) this.events.onError(error);
        return;
      }
      if (this.stopped) return;
      this.position += part.length;
      this.waitingBytes -= part.length;
      this.events.onStored(this.position);
    } while (this.waitingBytes >= PART_BYTES);
  }

  /** Storing a part again changes nothing, so that a lost answer does no harm. */
  private async store(part: Buffer): Promise<void> {
    const signal = AbortSignal.any([this.stopping.signal, AbortSignal.timeout(STORE_MS)]);
    await retryWhileUnavailable(() => this.append(this.position, part), { signal });
  }
}
