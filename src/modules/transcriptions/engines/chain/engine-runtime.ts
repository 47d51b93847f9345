import { Logger } from '@nestjs/common';
import { FairQueue } from '../../../../platform/concurrency/fair-queue.js';
import { BYTES_PER_SECOND } from '../../audio/pcm.js';
import { Outage } from '../outage.js';
import type { TranscriptionEngine } from '../transcription-engine.js';

/** Longer chunks would make other accounts wait longer for their turn, and take more memory. */
const MAX_CHUNK_SECONDS = 120;

/** An engine of this process, the queue for its slots, and whether it works. */
export class EngineRuntime {
  readonly outage = new Outage();
  private readonly logger = new Logger(EngineRuntime.name);
  readonly maxChunkSeconds: number;
  readonly queue: FairQueue;
  /** Whether a recording was to be given to it. */
  isWanted = false;
  /** Recordings that try whether the engine works again. */
  private trials = 0;

  /** @param memoryBytes for decoded audio, of which the chunks in its slots may take half. */
  constructor(
    readonly engine: TranscriptionEngine,
    memoryBytes: number,
  ) {
    this.maxChunkSeconds = Math.min(engine.maxChunkSeconds, MAX_CHUNK_SECONDS);
    this.queue = new FairQueue(
      Math.max(1, Math.min(engine.concurrency, Math.floor(memoryBytes / 2 / this.chunkBytes))),
    );
  }

  get chunkBytes(): number {
    return this.maxChunkSeconds * BYTES_PER_SECOND;
  }

  /** Takes no recordings for now. */
  setAside(cause: string): void {
    if (this.outage.problem === null)
      this.logger.error({ engine: this.engine.name, cause }, 'transcription engine set aside');
    this.outage.fail(cause);
  }

  /** Called after each transcribed chunk: ends an outage. */
  succeeded(): void {
    if (this.outage.problem !== null) this.logger.log({ engine: this.engine.name }, 'transcription engine works again');
    this.outage.end();
  }

  /** Null when recordings may be given to it; otherwise what is wrong and how to fix it, for the operator. */
  async problem(): Promise<string | null> {
    return this.outage.waitsFor ?? (await this.engine.problem());
  }

  /** The same, until a chunk was transcribed again. */
  async readinessProblem(): Promise<string | null> {
    return this.outage.problem ?? (await this.engine.problem());
  }

  /** Whether a recording already tries it after an outage: one at a time is enough. */
  get isOnTrial(): boolean {
    return this.outage.problem !== null && this.trials > 0;
  }

  /** Counts the recordings that try it during an outage. */
  async try<T>(task: () => Promise<T>): Promise<T> {
    const isTrial = this.outage.problem !== null;
    if (isTrial) this.trials++;
    try {
      return await task();
    } finally {
      if (isTrial) this.trials--;
    }
  }
}
