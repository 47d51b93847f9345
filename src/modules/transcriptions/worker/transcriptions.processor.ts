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
 * Recordings in progress per core. The engine transcribes their chunks in turn, so that more recordings than cores cost
 * little and short ones do not wait behind long ones.
 */
const RECORDINGS_PER_CORE = 4;

/** Consumes the queue: claims the recording of each job and transcribes it. */
@Injectable()
export class TranscriptionsProcessor implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(TranscriptionsProcessor.name);
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<void>>();
  private lastProblem: string | null = null;

  constructor(
    @InjectQueue(TRANSCRIPTION_QUEUE) private readonly queue: Queue<TranscriptionJob>,
    private readonly leases: RecordingLeasesService,
    private readonly transcriber: TranscriberService,
    private readonly runs: TranscriptionRunService,
    private readonly env: Env,
    private readonly watchdog: QueueWatchdogService,
  ) {}

  onApplicationBootstrap(): void {
    const concurrency = this.env.transcriptionConcurrency ?? RECORDINGS_PER_CORE * availableParallelism();
    this.queue.on('error', () => undefined);
    this.watchdog.watch(this.queue, () => this.running.size >= concurrency);
    // The environment decides how many, which the @Process decorator cannot ask.
    void this.queue.process(concurrency, (job) => this.handle(job.data.recordingId))?.catch(() => undefined);
  }

  /** The first shutdown hook: running recordings are released while Postgres and Redis are still connected. */
  async onModuleDestroy(): Promise<void> {
    this.stopping.abort(new WorkerStoppingError());
    // Not awaited: Redis may not answer.
    void this.queue.pause(true, true).catch(() => undefined);
    await Promise.allSettled(this.running);
  }

  private async handle(recordingId: string): Promise<void> {
    const work = this.transcribe(recordingId);
    this.running.add(work);
    await work.finally(() => this.running.delete(work));
  }

  private async transcribe(recordingId: string): Promise<void> {
    // A claim without a working engine would only use up the recording's attempts.
    if (this.stopping.signal.aborted || !(await this.isEngineReady())) return;
    const lease = await this.leases.claim(recordingId);
    if (lease) await this.runs.perform(lease, this.stopping.signal);
  }

  private async isEngineReady(): Promise<boolean> {
    const problem = await this.transcriber.problem();
    if (problem !== this.lastProblem && problem !== null)
      this.logger.error({ problem }, 'transcription engine unavailable');
    if (problem === null && this.lastProblem !== null) this.logger.log('transcription engine available again');
    this.lastProblem = problem;
    return problem === null;
  }
}
