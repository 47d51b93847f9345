import { setTimeout as delay } from 'node:timers/promises';
import { InjectQueue, Process, Processor } from '@nestjs/bull';
import type { OnModuleDestroy } from '@nestjs/common';
import type { Job } from 'bull';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import { TRANSCRIPTION_QUEUE, type TranscriptionJob } from '../transcriptions.listener.js';
import { TranscriptionWorkerService } from './transcription-worker.service.js';

/** Between two looks at an engine that cannot work. */
const PROBLEM_MS = 1000;

/** A job says that a recording is due, and ends when the worker has looked for one. */
@Processor(TRANSCRIPTION_QUEUE)
export class TranscriptionsProcessor implements OnModuleDestroy {
  private readonly stopping = new AbortController();

  constructor(
    @InjectQueue(TRANSCRIPTION_QUEUE) private readonly queue: JobQueue<TranscriptionJob>,
    private readonly worker: TranscriptionWorkerService,
  ) {}

  @Process()
  async process({ data }: Job<TranscriptionJob>): Promise<void> {
    await this.engineReady();
    if (this.stopping.signal.aborted) return await this.passOn(data);
    await this.worker.wake();
  }

  onModuleDestroy(): void {
    this.stopping.abort();
    // Not awaited: Redis may not answer.
    void this.queue.pause(true, true).catch(() => undefined);
  }

  /** Bull may still hand out a job while it pauses. */
  private async passOn(data: TranscriptionJob): Promise<void> {
    await this.queue.enqueue(data, { deduplicationKey: `passed-on-${Date.now()}` });
  }

  /** Takes no more jobs until the engine works, so that they wake workers that can do something. */
  private async engineReady(): Promise<void> {
    while (!this.stopping.signal.aborted && (await this.worker.problem()) !== null) {
      await delay(PROBLEM_MS, null, { signal: this.stopping.signal }).catch(() => undefined);
    }
  }
}
