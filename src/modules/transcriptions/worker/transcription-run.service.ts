import { InjectQueue } from '@nestjs/bull';
import { Injectable, Logger } from '@nestjs/common';
import { Env } from '../../../platform/config/env.js';
import { retryWhileUnavailable } from '../../../platform/database/unavailable.js';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import { ObjectStore } from '../../../platform/storage/object-store.js';
import { ObjectNotFoundError, StorageUnavailableError } from '../../../platform/storage/storage-errors.js';
import { type Lease, type Outcome, RecordingLeasesService } from '../../recordings/leases/recording-leases.service.js';
import { AudioRejectedError, EngineError, EngineUnavailableError } from '../engines/transcription-engine.js';
import { TranscriptSignalsService } from '../transcript-signals.service.js';
import { TRANSCRIPTION_QUEUE, type TranscriptionJob } from '../transcriptions.queue.js';
import { Outage } from './outage.js';
import { TranscriberService } from './transcriber.service.js';

/** After this many crashes of the engine or decoder, the recording itself counts as the cause. */
const MAX_CRASHES = 5;
/** Delay before the next attempt: doubled each time, up to half an hour. */
const FIRST_DELAY_SECONDS = 2;
const MAX_DELAY_SECONDS = 1800;
/** After three failed renewals in a row, a quarter of the lease is left. */
const RENEWALS_PER_LEASE = 4;

/** The worker is shutting down: it releases its recordings, so that another worker can claim them immediately. */
export class WorkerStoppingError extends Error {
  override readonly name = 'WorkerStoppingError';
}

class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

/** Brings one claimed recording to its terminal state, or releases it. */
@Injectable()
export class TranscriptionRunService {
  private readonly logger = new Logger(TranscriptionRunService.name);
  private readonly storageOutage = new Outage();
  private readonly doubtful = new Set<Lease>();

  constructor(
    private readonly leases: RecordingLeasesService,
    private readonly transcriber: TranscriberService,
    private readonly store: ObjectStore,
    @InjectQueue(TRANSCRIPTION_QUEUE) private readonly jobs: JobQueue<TranscriptionJob>,
    private readonly env: Env,
    private readonly signals: TranscriptSignalsService,
  ) {}

  /**
   * Whether a lease may have expired because Postgres does not answer. A worker that claims then would take its own
   * recording away from itself.
   */
  get hasDoubtfulLease(): boolean {
    return this.doubtful.size > 0;
  }

  /** @param stopping aborted with {@link WorkerStoppingError}. Throws only when the database cannot be reached. */
  async perform(lease: Lease, stopping: AbortSignal): Promise<void> {
    const lost = new AbortController();
    const renewal = this.keepRenewing(lease, lost);
    const signal = AbortSignal.any([stopping, lost.signal]);
    try {
      await this.finish(lease, await this.transcribe(lease, signal), signal);
    } catch (error) {
      await this.handleFailure(lease, signal.aborted ? signal.reason : error);
    } finally {
      clearInterval(renewal);
      this.doubtful.delete(lease);
    }
  }

  private async transcribe(lease: Lease, signal: AbortSignal): Promise<Outcome> {
    const started = performance.now();
    const { accountId, audioFormat: format, sampleRate, channels, language } = lease;
    const probedSeconds = lease.durationMs / 1000;
    const result = await this.store.withFile(
      lease.objectKey,
      (file) => {
        this.storageOutage.end();
        return this.transcriber.transcribe({
          accountId,
          file,
          format,
          sampleRate,
          channels,
          language,
          probedSeconds,
          onText: (piece) => this.announce(lease, piece),
          signal,
        });
      },
      signal,
    );
    return {
      status: 'transcribed',
      transcript: {
        text: result.text,
        confidence: result.confidence,
        language: result.language,
        provider: this.transcriber.engine.name,
        model: this.transcriber.engine.model,
        processingDurationMs: Math.round(performance.now() - started),
        words: result.words,
      },
      features: { speech_seconds: result.speechSeconds, no_speech: result.noSpeech },
      durationMs: Math.round(result.durationSeconds * 1000),
    };
  }

  private announce({ id, attempt }: Lease, piece: { offset: number; text: string }): void {
    const { name: provider, model } = this.transcriber.engine;
    this.signals.publish(id, { type: 'chunk', attempt, ...piece, provider, model });
  }

  /** Retried while Postgres restarts, because a transcription may have taken minutes. A repeated finish is harmless. */
  private async finish(lease: Lease, outcome: Outcome, signal: AbortSignal): Promise<void> {
    await retryWhileUnavailable(() => this.leases.finish(lease, outcome), { signal });
  }

  private async handleFailure(lease: Lease, error: unknown): Promise<void> {
    if (error instanceof LeaseLostError) return;
    if (error instanceof AudioRejectedError) return this.fail(lease, error.message);
    if (error instanceof ObjectNotFoundError) return this.fail(lease, 'The audio is no longer in storage.');
    if (error instanceof WorkerStoppingError) {
      await this.leases.release(lease, 0, 0, 0);
      await this.jobs.enqueue({ recordingId: lease.id }, { deduplicationKey: `released-${Date.now()}` });
      return;
    }
    const context = { err: error, recording_id: lease.id, attempt: lease.attempt };
    this.logger.warn(context, 'transcription attempt failed');
    const wait = await this.outageAfter(error);
    // The attempt does not count, so that no outage, however long, fails a recording.
    if (wait !== null) return await this.leases.release(lease, wait, 0, 0);
    const audioCleared = error instanceof EngineError && !error.audioSuspected;
    if (!audioCleared && lease.faults + 1 >= MAX_CRASHES) {
      return this.fail(lease, `The engine crashed ${MAX_CRASHES} times on this recording.`);
    }
    await this.retryLater(lease, audioCleared ? 0 : 1);
  }

  /** Seconds to wait when the cause is something that all recordings need; null when it may be this recording. */
  private async outageAfter(error: unknown): Promise<number | null> {
    if (error instanceof StorageUnavailableError) return this.storageOutage.fail(error.message);
    if (!(error instanceof EngineError) || error.audioSuspected) return null;
    const { outage } = this.transcriber;
    if (error instanceof EngineUnavailableError) return outage.fail(error.message);
    return (await this.transcriber.problem()) === null ? null : outage.fail(error.message);
  }

  private async fail(lease: Lease, reason: string): Promise<void> {
    await this.leases.finish(lease, { status: 'failed', reason });
  }

  private async retryLater(lease: Lease, faults: 0 | 1): Promise<void> {
    const seconds = Math.min(FIRST_DELAY_SECONDS * 2 ** (lease.attempt - 1), MAX_DELAY_SECONDS);
    await this.leases.release(lease, seconds, 1, faults);
  }

  /**
   * Ends the work when the lease is lost. While Postgres does not answer the work goes on: as long as nobody else has
   * claimed the recording, the same token renews a lease that has expired, and finishes the recording.
   */
  private keepRenewing(lease: Lease, lost: AbortController): NodeJS.Timeout {
    const leaseMs = this.env.leaseSeconds * 1000;
    let heldUntil = Date.now() + leaseMs;
    const renew = async (): Promise<void> => {
      const renewedAt = Date.now();
      const held = await this.leases.renew(lease).catch(() => null);
      if (held === false) lost.abort(new LeaseLostError());
      if (held) heldUntil = renewedAt + leaseMs;
      if (held !== null) this.doubtful.delete(lease);
      else if (Date.now() + leaseMs / RENEWALS_PER_LEASE > heldUntil) this.doubtful.add(lease);
    };
    return setInterval(() => void renew(), leaseMs / RENEWALS_PER_LEASE);
  }
}
