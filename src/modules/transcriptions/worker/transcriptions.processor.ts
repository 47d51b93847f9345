import { availableParallelism } from 'node:os';
import { InjectQueue } from '@nestjs/bull';
import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { Queue } from 'bull';
import { Env } from '../../../platform/config/env.js';
import { QueueWatchdogService } from '../../../platform/queue/queue-watchdog.service.js';
import { RecordingLeasesService } from '../../recordings/leases/recording-leases.service.js';
import { TranscriberService } from './transcriber.service.js';
import { TRANSCRIPTION_QUEUE, type TranscriptionJob } from '../transcription-jobs.service.js';
import { TranscriptionRunService, WorkerStoppingError } from './transcription-run.service.js';

/**
 * Recordings under way for each core. The engine hears their pieces in turns, so more recordings than cores cost
 * little, and short ones do not queue up behind long ones.
 */
const RECORDINGS_PER_CORE = 4;

/** Answers the jobs: claims the recording that was rung for and sees it through. */
@Injectable()
export class TranscriptionsProcessor implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(TranscriptionsProcessor.name);
  private readonly stopping = new AbortController();
  private readonly underWay = new Set<Promise<void>>();
  private lastProblem: string | null = null;

  constructor(
    @InjectQueue(TRANSCRIPTION_QUEUE) private readonly queue: Queue<TranscriptionJob>,
    private readonly processing: RecordingLeasesService,
    private readonly transcriber: TranscriberService,
    private readonly run: TranscriptionRunService,
    private readonly env: Env,
    private readonly watchdog: QueueWatchdogService,
  ) {}

  onApplicationBootstrap(): void {
    const concurrency = this.env.transcriptionConcurrency ?? RECORDINGS_PER_CORE * availableParallelism();
    this.queue.on('error', () => undefined);
    this.watchdog.watch(this.queue, () => this.underWay.size >= concurrency);
    // The environment decides how many, which the @Process decorator cannot ask.
    void this.queue.process(concurrency, (job) => this.answer(job.data.recordingId))?.catch(() => undefined);
  }

  /** The first hook of a stop: what is under way goes back, while Postgres and Redis are still there to tell. */
  async onModuleDestroy(): Promise<void> {
    this.stopping.abort(new WorkerStoppingError());
    // Not waited for: Redis may not answer.
    void this.queue.pause(true, true).catch(() => undefined);
    await Promise.allSettled(this.underWay);
  }

  private async answer(recordingId: string): Promise<void> {
    const work = this.workOn(recordingId);
    this.underWay.add(work);
    await work.finally(() => this.underWay.delete(work));
  }

  private async workOn(recordingId: string): Promise<void> {
    // Claiming without an engine would only use up the recording's attempts.
    if (this.stopping.signal.aborted || !(await this.canWork())) return;
    const lease = await this.processing.claim(recordingId);
    if (lease) await this.run.perform(lease, this.stopping.signal);
  }

  private async canWork(): Promise<boolean> {
    const problem = await this.transcriber.problem();
    if (problem !== this.lastProblem && problem !== null) this.logger.error(problem);
    if (problem === null && this.lastProblem !== null) this.logger.log('the engine is back');
    this.lastProblem = problem;
    return problem === null;
  }
}
