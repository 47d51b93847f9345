import { Injectable, Logger } from '@nestjs/common';
import { Env } from '../../../platform/config/env.js';
import { retryWhileUnavailable } from '../../../platform/database/unavailable.js';
import { ObjectStore } from '../../../platform/storage/object-store.js';
import { ObjectNotFoundError, StorageUnavailableError } from '../../../platform/storage/storage-errors.js';
import { type Lease, type Outcome, RecordingLeasesService } from '../../recordings/leases/recording-leases.service.js';
import { AudioRejectedError, EngineError } from '../engines/transcription-engine.js';
import { TranscriptionJobsService } from '../transcription-jobs.service.js';
import { TranscriberService } from './transcriber.service.js';

/** Crashes of the engine or the decoder on one recording, after which the recording is held to be the cause. */
const MAX_FAULTS = 5;
/** Seconds before another try: doubled each time, up to half an hour. */
const FIRST_DELAY = 2;
const LONGEST_DELAY = 1800;
/** A renewal that fails three times in a row still leaves a quarter of the lease. */
const RENEWALS_PER_LEASE = 4;

/** The worker is asked to stop: what it holds goes back, for another worker to take at once. */
export class WorkerStoppingError extends Error {
  override readonly name = 'WorkerStoppingError';
}

class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

/** Takes one claimed recording to its terminal state, or gives it back. */
@Injectable()
export class TranscriptionRunService {
  private readonly logger = new Logger(TranscriptionRunService.name);

  constructor(
    private readonly processing: RecordingLeasesService,
    private readonly transcriber: TranscriberService,
    private readonly store: ObjectStore,
    private readonly jobs: TranscriptionJobsService,
    private readonly env: Env,
  ) {}

  /** @param stopping aborted with {@link WorkerStoppingError}. Never throws but for a database out of reach. */
  async perform(lease: Lease, stopping: AbortSignal): Promise<void> {
    const lost = new AbortController();
    const renewal = this.keepRenewing(lease, lost);
    const signal = AbortSignal.any([stopping, lost.signal]);
    try {
      await this.finish(lease, await this.transcribe(lease, signal), signal);
    } catch (error) {
      await this.settle(lease, signal.aborted ? signal.reason : error);
    } finally {
      clearInterval(renewal);
    }
  }

  private async transcribe(lease: Lease, signal: AbortSignal): Promise<Outcome> {
    const started = performance.now();
    const { audioFormat: format, sampleRate, channels, language } = lease;
    const probedSeconds = lease.durationMs / 1000;
    const note = await this.store.withFile(lease.objectKey, (file) =>
      this.transcriber.transcribe({ file, format, sampleRate, channels, language, probedSeconds, signal }),
    );
    return {
      status: 'transcribed',
      transcript: {
        text: note.text,
        confidence: note.confidence,
        language: note.language,
        provider: this.transcriber.engine.name,
        model: this.transcriber.engine.model,
        processingDurationMs: Math.round(performance.now() - started),
        words: note.words,
      },
      features: { speech_seconds: note.speechSeconds, no_speech: note.noSpeech },
      durationMs: Math.round(note.durationSeconds * 1000),
    };
  }

  /** What took minutes to hear is not thrown away because Postgres restarts; repeating a finish does no harm. */
  private async finish(lease: Lease, outcome: Outcome, signal: AbortSignal): Promise<void> {
    await retryWhileUnavailable(() => this.processing.finish(lease, outcome), { signal });
  }

  private async settle(lease: Lease, error: unknown): Promise<void> {
    if (error instanceof LeaseLostError) return;
    if (error instanceof AudioRejectedError) return this.fail(lease, error.message);
    if (error instanceof ObjectNotFoundError) return this.fail(lease, 'The audio is no longer in storage.');
    if (error instanceof WorkerStoppingError) {
      await this.processing.release(lease, 0, 0, 0);
      await this.jobs.ring({ recordingId: lease.id }, `handed-back-${Date.now()}`);
      return;
    }
    const context = { err: error, recording_id: lease.id, attempt: lease.attempt };
    this.logger.warn(context, 'an attempt at a transcription failed');
    const blameless =
      error instanceof StorageUnavailableError || (error instanceof EngineError && !error.audioSuspected);
    if (!blameless && lease.faults + 1 >= MAX_FAULTS) {
      return this.fail(lease, `The engine broke down on this recording ${MAX_FAULTS} times.`);
    }
    await this.tryAgain(lease, blameless ? 0 : 1);
  }

  private async fail(lease: Lease, reason: string): Promise<void> {
    await this.processing.finish(lease, { status: 'failed', reason });
  }

  private async tryAgain(lease: Lease, faults: 0 | 1): Promise<void> {
    const seconds = Math.min(FIRST_DELAY * 2 ** (lease.attempt - 1), LONGEST_DELAY);
    await this.processing.release(lease, seconds, 1, faults);
    await this.jobs.ring({ recordingId: lease.id }, `attempt-${lease.attempt}`, seconds * 1000 + 100);
  }

  /** A lost lease ends the work; a database out of reach does so once the lease must have run out. */
  private keepRenewing(lease: Lease, lost: AbortController): NodeJS.Timeout {
    const leaseMs = this.env.leaseSeconds * 1000;
    let heldUntil = Date.now() + leaseMs;
    const renew = async (): Promise<void> => {
      const renewedAt = Date.now();
      const held = await this.processing.renew(lease).catch(() => null);
      if (held) heldUntil = renewedAt + leaseMs;
      if (held === false || Date.now() > heldUntil) lost.abort(new LeaseLostError());
    };
    return setInterval(() => void renew(), leaseMs / RENEWALS_PER_LEASE);
  }
}
