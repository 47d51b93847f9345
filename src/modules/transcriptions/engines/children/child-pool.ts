import { FairQueue } from '../../chunks/fair-queue.js';
import { EngineChild } from './engine-child.js';
import { EngineError, type ChunkTranscript } from '../transcription-engine.js';

/** After a failed start the next check waits so long, so that probes of health do not start processes all the time. */
const RECHECK_MS = 10_000;

/** A fixed number of engine processes, started when first needed and replaced when lost. */
export class ChildPool {
  private children: EngineChild[] = [];
  private readonly lane;
  private closed = false;
  private lastProblem: { message: string; at: number } | null = null;

  constructor(
    private readonly module: string,
    size: number,
  ) {
    this.lane = new FairQueue(size).lane();
  }

  /**
   * Lets a child recognise the audio. When aborted, rejects at once: a piece under way is finished and thrown away, a
   * waiting one is dropped.
   * @throws EngineError
   */
  async recognise(pcm: Uint8Array, limitMs: number, signal: AbortSignal): Promise<ChunkTranscript> {
    const transcript = this.lane.run(() => {
      signal.throwIfAborted();
      if (this.closed) throw new EngineError('The engine is closed', false);
      return this.take().recognise(pcm, limitMs);
    });
    return await abortable(transcript, signal);
  }

  /** Null when a child is ready or can be started; otherwise why it cannot. */
  async problem(): Promise<string | null> {
    if (this.children.some((child) => child.isReady)) return null;
    if (this.lastProblem && Date.now() - this.lastProblem.at < RECHECK_MS) return this.lastProblem.message;
    try {
      await (this.children.find((child) => child.isAlive) ?? this.start()).ready;
      this.lastProblem = null;
    } catch (error) {
      this.lastProblem = { message: (error as Error).message, at: Date.now() };
    }
    return this.lastProblem?.message ?? null;
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all(this.children.map((child) => child.close()));
  }

  /** An idle child. There is one or room for one, since the lane admits no more pieces than there are children. */
  private take(): EngineChild {
    return this.children.find((child) => child.isIdle) ?? this.start();
  }

  private start(): EngineChild {
    this.children = this.children.filter((child) => child.isAlive);
    const child = new EngineChild(this.module);
    this.children.push(child);
    return child;
  }
}

async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
