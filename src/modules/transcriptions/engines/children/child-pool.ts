import type { SandboxMode } from '../../../../platform/config/env.js';
import { sharedRun } from '../../../../platform/concurrency/shared-run.js';
import { FairQueue, type QueueEntry } from '../../../../platform/concurrency/fair-queue.js';
import { CircuitBreaker } from '../circuit-breaker.js';
import { EngineError, EngineUnavailableError, type ChunkTranscript } from '../transcription-engine.js';
import type { ChunkOptions } from './child-messages.js';
import { type ChildModule, EngineChild } from './engine-child.js';

/** After a failed start, no other process is started for so long at first: to load a large model in vain takes a core for many seconds. */
const RETRY_SECONDS = 10;

/** A fixed number of engine processes, started when first needed and replaced when lost. */
export class ChildPool {
  private children: EngineChild[] = [];
  private readonly queue: FairQueue;
  private readonly entry: QueueEntry;
  private readonly startProblem = sharedRun(() => this.tryStart(), RETRY_SECONDS * 1000);
  private readonly starts = new CircuitBreaker(RETRY_SECONDS);
  private closed = false;

  constructor(
    private readonly module: ChildModule,
    size: number,
    private readonly sandbox: SandboxMode = 'auto',
  ) {
    this.queue = new FairQueue(size);
    this.entry = this.queue.join();
  }

  /**
   * Transcribes the audio in a child process. Once aborted it rejects immediately: a chunk that is being transcribed is
   * finished and its result dropped; a waiting chunk never starts.
   * @throws EngineError; EngineUnavailableError when no process can be started
   */
  async transcribe(
    pcm: Uint8Array,
    limitMs: number,
    signal: AbortSignal,
    options: ChunkOptions = {},
  ): Promise<ChunkTranscript> {
    return await this.run(this.entry, (child) => child.transcribe(pcm, options, limitMs), signal);
  }

  /** Joins the queue for the children; the caller leaves it. */
  join(accountId: string, isBackground?: boolean): QueueEntry {
    return this.queue.join(accountId, isBackground);
  }

  /**
   * Gives the task a child of its own when it is its turn. Once aborted it rejects immediately; a waiting task never
   * starts.
   * @param cost of the task beside others of the queue
   * @throws as `transcribe`, and what the task throws
   */
  async run<T>(
    entry: QueueEntry,
    task: (child: EngineChild) => Promise<T>,
    signal: AbortSignal,
    cost?: number,
  ): Promise<T> {
    const result = entry.run(async () => {
      signal.throwIfAborted();
      this.refuseClosed();
      return await task(this.idleChild());
    }, cost);
    return await abortable(result, signal);
  }

  /** Ends the children that do nothing; others are started when they are needed. */
  async closeIdle(): Promise<void> {
    await Promise.all(this.children.filter((child) => child.isIdle).map((child) => child.close()));
  }

  /** Null when a child is ready or can be started; otherwise the reason why not. */
  async problem(): Promise<string | null> {
    return this.children.some((child) => child.isReady) ? null : await this.startProblem();
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all(this.children.map((child) => child.close()));
  }

  private async tryStart(): Promise<string | null> {
    try {
      await (this.children.find((child) => child.isAlive) ?? this.start()).ready;
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** The queue admits no more chunks than there are children, so one is idle or can be started. */
  private idleChild(): EngineChild {
    return this.children.find((child) => child.isIdle) ?? this.start();
  }

  private start(): EngineChild {
    this.refuseClosed();
    this.children = this.children.filter((child) => child.isAlive);
    const { refusal } = this.starts;
    if (refusal !== null) throw new EngineUnavailableError(refusal);
    const child = new EngineChild(this.module, this.sandbox);
    this.children.push(child);
    child.ready.then(
      () => this.starts.close(),
      (error: Error) => this.starts.open(error.message),
    );
    return child;
  }

  /** Nobody would end a process that is started later. */
  private refuseClosed(): void {
    if (this.closed) throw new EngineError('The engine is closed', false);
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
