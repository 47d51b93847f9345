import { Injectable, Logger } from '@nestjs/common';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { isDatabaseUnavailable } from '../../../platform/database/unavailable.js';
import { type ChunkSignal, TranscriptSignalsService } from '../../transcriptions/transcript-signals.service.js';
import { findProcessing } from './ended-recordings.queries.js';

/** Between two checks of the recordings of waiting requests, one statement for all that are due. */
const TICK_MS = 1000;
/** A recording is checked again after 1, 2, 4, 5, 5 … seconds, also without a signal, which may be lost. */
const MAX_GAP_MS = 5000;

interface Waiter {
  recordingId: string;
  resolve: () => void;
  checkAt: number;
  gapMs: number;
}

/** Waits for the end of recordings without a database connection, however many wait. */
@Injectable()
export class RecordingEndsService {
  private readonly logger = new Logger(RecordingEndsService.name);
  private readonly waiters = new Set<Waiter>();
  private timer: NodeJS.Timeout | undefined;
  private checking: Promise<void> | null = null;

  constructor(
    private readonly database: DatabaseService,
    private readonly signals: TranscriptSignalsService,
  ) {}

  /**
   * Resolves when the recording is no longer to be transcribed: its row says how it ended, or that it is gone.
   * @param onChunk called with the text of chunks, in order; any may be missing.
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
          else this.checkSoon(added);
        });
      });
    } finally {
      unsubscribe();
      signal.removeEventListener('abort', abort);
      this.remove(waiter);
    }
  }

  private add(recordingId: string, resolve: () => void): Waiter {
    const waiter = { recordingId, resolve, checkAt: Date.now() + TICK_MS, gapMs: TICK_MS };
    this.waiters.add(waiter);
    this.timer ??= setInterval(() => void this.check(), TICK_MS).unref();
    return waiter;
  }

  private remove(waiter: Waiter | undefined): void {
    if (waiter) this.waiters.delete(waiter);
    if (this.waiters.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private checkSoon(waiter: Waiter): void {
    waiter.checkAt = 0;
    // What comes in the same turn of the event loop shares a statement.
    setImmediate(() => void this.check());
  }

  /** One statement at a time. */
  private async check(): Promise<void> {
    while (this.checking) await this.checking;
    const due = [...this.waiters].filter(({ checkAt }) => checkAt <= Date.now());
    if (due.length === 0) return;
    for (const waiter of due) {
      waiter.gapMs = Math.min(waiter.gapMs * 2, MAX_GAP_MS);
      waiter.checkAt = Date.now() + waiter.gapMs;
    }
    this.checking = this.resolveEnded(due).finally(() => {
      this.checking = null;
    });
    await this.checking;
  }

  private async resolveEnded(due: Waiter[]): Promise<void> {
    try {
      const processing = await findProcessing(this.database, [...new Set(due.map(({ recordingId }) => recordingId))]);
      for (const waiter of due) if (!processing.has(waiter.recordingId)) waiter.resolve();
    } catch (error) {
      // The next check asks again.
      if (!isDatabaseUnavailable(error)) this.logger.warn({ err: error }, 'ended recordings not looked up');
    }
  }
}
