import { Injectable, Logger } from '@nestjs/common';
import { coalesce } from '../../platform/concurrency/coalesce.js';
import { sharedRun } from '../../platform/concurrency/shared-run.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { isDatabaseUnavailable } from '../../platform/database/unavailable.js';
import { type ChunkSignal, TranscriptSignalsService } from '../transcriptions/transcript-signals.service.js';

/** Signals may get lost: all recordings that are waited for are looked up this often, in one statement. */
const POLL_MS = 2000;
/** Recordings in one statement, more than a process waits for by default. */
const MAX_RECORDINGS = 5000;

/** Waits for the end of recordings without a database connection, however many wait. */
@Injectable()
export class RecordingEndsService {
  private readonly logger = new Logger(RecordingEndsService.name);
  private readonly isProcessing = coalesce((ids: readonly string[]) => this.areProcessing(ids), {
    maxItems: MAX_RECORDINGS,
  });
  /** One for each request that waits: looks its recording up, and ends the wait if it has ended. */
  private readonly looks = new Set<() => Promise<void>>();
  /** One at a time: while Postgres hangs, they would pile up. */
  private readonly lookForAll = sharedRun(async () => await Promise.all([...this.looks].map((look) => look())));
  private timer: NodeJS.Timeout | undefined;

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
    let stop = (): void => undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const look = async (): Promise<void> => {
          if (!(await this.isProcessing(recordingId))) resolve();
        };
        const abort = (): void => reject(signal.reason as Error);
        const unsubscribe = this.signals.subscribe(recordingId, (message) => {
          if (message?.type === 'chunk') onChunk?.(message);
          else void look();
        });
        signal.addEventListener('abort', abort, { once: true });
        this.add(look);
        stop = () => {
          this.remove(look);
          signal.removeEventListener('abort', abort);
          unsubscribe();
        };
      });
    } finally {
      stop();
    }
  }

  private add(look: () => Promise<void>): void {
    this.looks.add(look);
    this.timer ??= setInterval(() => void this.lookForAll(), POLL_MS).unref();
  }

  private remove(look: () => Promise<void>): void {
    this.looks.delete(look);
    if (this.looks.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** All are, as far as can be told, while Postgres does not answer: the next look asks again. */
  private async areProcessing(ids: readonly string[]): Promise<boolean[]> {
    try {
      const processing = await findProcessing(this.database, [...new Set(ids)]);
      return ids.map((id) => processing.has(id));
    } catch (error) {
      if (!isDatabaseUnavailable(error)) this.logger.warn({ err: error }, 'ended recordings not looked up');
      return ids.map(() => true);
    }
  }
}

/** Those of the recordings that are still to be transcribed. SQL, because the table belongs to another module. */
async function findProcessing(database: DatabaseService, ids: readonly string[]): Promise<Set<string>> {
  const rows = await database.prepared<{ id: string }>(
    `SELECT id FROM recordings WHERE id = ANY($1::uuid[]) AND status = 'processing'`,
    [ids],
  );
  return new Set(rows.map(({ id }) => id));
}
