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
  private tasks: { position: number; task: (position: number) => Promise<void> }[] = [];
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
    return this.waitingBytes + (this.waiting.length + this.tasks.length) * OBJECT_BYTES;
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

  /** Runs a task once everything that was added is stored, and before anything later is. It may be repeated. */
  between(task: (position: number) => Promise<void>): void {
    if (this.stopped) return;
    this.tasks.push({ position: this.position + this.waitingBytes, task });
    this.start();
  }

  /** Resolves once everything is stored, or nothing more will be. */
  async flush(): Promise<void> {
    while (!this.stopped && this.isBehind) {
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
    this.tasks = [];
  }

  private get isBehind(): boolean {
    return this.waitingBytes > 0 || this.tasks.length > 0;
  }

  private start(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.stopped || !this.isBehind) return;
    this.running ??= this.run().finally(() => {
      this.running = null;
      if (this.isBehind && !this.stopped) this.timer ??= setTimeout(() => this.start(), GATHER_MS);
    });
  }

  /** Ends with less than a part left, which waits for more. */
  private async run(): Promise<void> {
    do {
      const part = this.takePart();
      try {
        if (part.length > 0) await this.store(part);
        await this.runTasks(this.position + part.length);
      } catch (error) {
        const wasStopped = this.stopped;
        this.stop();
        if (!wasStopped) this.events.onError(error);
        return;
      }
      if (this.stopped) return;
      this.position += part.length;
      this.waitingBytes -= part.length;
      if (part.length > 0) this.events.onStored(this.position);
    } while (this.waitingBytes >= PART_BYTES || this.tasks.length > 0);
  }

  /** What waits, up to the next task. */
  private takePart(): Buffer {
    const all = Buffer.concat(this.waiting.splice(0));
    const [next] = this.tasks;
    const length = next ? next.position - this.position : all.length;
    if (length < all.length) this.waiting.unshift(all.subarray(length));
    return all.subarray(0, length);
  }

  private async runTasks(position: number): Promise<void> {
    for (let [next] = this.tasks; next?.position === position; [next] = this.tasks) {
      const { task } = next;
      await this.retry(() => task(position));
      this.tasks.shift();
    }
  }

  /** Storing a part again changes nothing, so that a lost answer does no harm. */
  private async store(part: Buffer): Promise<void> {
    await this.retry(() => this.append(this.position, part));
  }

  private async retry(store: () => Promise<unknown>): Promise<void> {
    const signal = AbortSignal.any([this.stopping.signal, AbortSignal.timeout(STORE_MS)]);
    await retryWhileUnavailable(store, { signal });
  }
}
