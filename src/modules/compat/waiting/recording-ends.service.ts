import { Injectable, Logger } from '@nestjs/common';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { isDatabaseUnavailable } from '../../../platform/database/unavailable.js';
import { type ChunkSignal, TranscriptSignalsService } from '../../transcriptions/transcript-signals.service.js';
import { findProcessing } from './ended-recordings.queries.js';

/** Between two looks at the recordings of waiting requests, one statement for all that are due. */
const TICK_MS = 1000;
/** A request looks again by itself after 1, 2, 4, 5, 5 … seconds, because a signal may be lost. */
const MAX_GAP_MS = 5000;

interface Waiter {
  recordingId: string;
  resolve: () => void;
  lookAt: number;
  gapMs: number;
}

/** Waits for the end of recordings without a database connection, however many wait. */
@Injectable()
export class RecordingEndsService {
  private readonly logger = new Logger(RecordingEndsService.name);
  private readonly waiters = new Set<Waiter>();
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> | null = null;

  constructor(
    private readonly database: DatabaseService,
    private readonly signals: TranscriptSignalsService,
  ) {}

  /**
   * Resolves when the recording is no longer to be transcribed: its row says how it ended, or that it is gone.
   * @param onChunk called with pieces of the text, in order; any may be missing.
   * @throws the signal's reason when it is aborted.
   */
  async waitForEnd(recordingId: string, signal: AbortSignal, onChunk?: (chunk: ChunkSignal) => void): Promise<void> {
    signal.throwIfAborted();
    let abort = (): void => undefined;
    let waiter: Waiter | undefined;
    let unsubscribe = (): void => undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        abort = () => reject(signal.reason as Error);
        signal.addEventListener('abort', abort, { once: true });
        const added = this.add(recordingId, resolve);
        waiter = added;
        unsubscribe = this.signals.subscribe(recordingId, (message) => {
          if (message?.type === 'chunk') onChunk?.(message);
          else this.lookSoon(added);
        });
      });
    } finally {
      unsubscribe();
      signal.removeEventListener('abort', abort);
      this.remove(waiter);
    }
  }

  private add(recordingId: string, resolve: () => void): Waiter {
    const waiter = { recordingId, resolve, lookAt: Date.now() + TICK_MS, gapMs: TICK_MS };
    this.waiters.add(waiter);
    this.timer ??= setInterval(() => void this.look(), TICK_MS).unref();
    return waiter;
  }

  private remove(waiter: Waiter | undefined): void {
    if (waiter) this.waiters.delete(waiter);
    if (this.waiters.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private lookSoon(waiter: Waiter): void {
    waiter.lookAt = 0;
    // What comes in the same turn of the event loop shares a statement.
    setImmediate(() => void this.look());
  }

  /** One statement at a time. */
  private async look(): Promise<void> {
    while (this.looking) await this.looking;
    const due = [...this.waiters].filter(({ lookAt }) => lookAt <= Date.now());
    if (due.length === 0) return;
    for (const waiter of due) {
      waiter.gapMs = Math.min(waiter.gapMs * 2, MAX_GAP_MS);
      waiter.lookAt = Date.now() + waiter.gapMs;
    }
    this.looking = this.resolveEnded(due).finally(() => {
      this.looking = null;
    });
    await this.looking;
  }

  private async resolveEnded(due: Waiter[]): Promise<void> {
    try {
      const processing = await findProcessing(this.database, [...new Set(due.map(({ recordingId }) => recordingId))]);
      for (const waiter of due) if (!processing.has(waiter.recordingId)) waiter.resolve();
    } catch (error) {
      // Asked again at the next look.
      if (!isDatabaseUnavailable(error)) this.logger.warn({ err: error }, 'ended recordings not looked up');
    }
  }
}
