import { availableParallelism } from 'node:os';
import { InjectQueue, OnQueueError, Process, Processor } from '@nestjs/bull';
import { Logger, type OnApplicationBootstrap, type OnModuleDestroy, type Type } from '@nestjs/common';
import type { Job } from 'bull';
import { Env } from '../../../platform/config/env.js';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import { QueueWatchdogService } from '../../../platform/queue/queue-watchdog.service.js';
import { RecordingLeasesService } from '../../recordings/leases/recording-leases.service.js';
import { TranscriberService } from './transcriber.service.js';
import { TRANSCRIPTION_QUEUE, type TranscriptionJob } from '../transcriptions.queue.js';
import { TranscriptionRunService, WorkerStoppingError } from './transcription-run.service.js';

/**
 * Recordings in progress per core. The engine transcribes their chunks in turn, so that more recordings than cores cost
 * little and short ones do not wait behind long ones.
 */
const RECORDINGS_PER_CORE = 4;

const concurrencyOf = (env: Env): number =>
  env.transcriptionConcurrency ?? RECORDINGS_PER_CORE * availableParallelism();

/** Claims the recording of each job and transcribes it. Register it with {@link transcriptionsProcessor}. */
@Processor(TRANSCRIPTION_QUEUE)
export class TranscriptionsProcessor implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(TranscriptionsProcessor.name);
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<void>>();
  private lastProblem: string | null = null;
  private markStarted!: () => void;
  private readonly started = new Promise<void>((resolve) => {
    this.markStarted = resolve;
  });

  constructor(
    @InjectQueue(TRANSCRIPTION_QUEUE) private readonly queue: JobQueue<TranscriptionJob>,
    private readonly leases: RecordingLeasesService,
    private readonly transcriber: TranscriberService,
    private readonly runs: TranscriptionRunService,
    watchdog: QueueWatchdogService,
    env: Env,
  ) {
    watchdog.watch(queue, () => this.running.size >= concurrencyOf(env));
  }

  /** Bull starts its consumers before every listener of a recording's events is registered. */
  onApplicationBootstrap(): void {
    this.markStarted();
  }

  async process(job: Job<TranscriptionJob>): Promise<void> {
    await this.started;
    const work = this.transcribe(job.data.recordingId);
    this.running.add(work);
    await work.finally(() => this.running.delete(work));
  }

  /** RedisService logs it when Redis becomes unavailable. */
  @OnQueueError()
  ignore(): void {}

  /** The first shutdown hook: running recordings are released while Postgres and Redis are still connected. */
  async onModuleDestroy(): Promise<void> {
    this.stopping.abort(new WorkerStoppingError());
    // Not awaited: Redis may not answer.
    void this.queue.pause(true, true).catch(() => undefined);
    await Promise.allSettled(this.running);
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

/** `@Process` takes its concurrency when the class is defined, and here the environment gives it. */
export function transcriptionsProcessor(env: Env): Type<TranscriptionsProcessor> {
  class ConfiguredTranscriptionsProcessor extends TranscriptionsProcessor {
    @Process({ concurrency: concurrencyOf(env) })
    override async process(job: Job<TranscriptionJob>): Promise<void> {
      await super.process(job);
    }
  }
  return ConfiguredTranscriptionsProcessor;
}
