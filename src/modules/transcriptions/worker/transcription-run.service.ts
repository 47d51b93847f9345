import { InjectQueue } from '@nestjs/bull';
import { Injectable, Logger } from '@nestjs/common';
import { keepLease, LeaseLostError } from '../../../platform/concurrency/lease-loops.js';
import { Env } from '../../../platform/config/env.js';
import { retryWhileUnavailable } from '../../../platform/database/unavailable.js';
import { type SpanAttributes, traces } from '../../../platform/observability/traces/traces.js';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import { ObjectStore } from '../../../platform/storage/object-store.js';
import { ObjectNotFoundError, StorageUnavailableError } from '../../../platform/storage/file-system.js';
import {
  isBackground,
  type Lease,
  type Outcome,
  RecordingLeasesService,
} from '../../recordings/leases/recording-leases.service.js';
import { channelFeature } from './join-transcripts.js';
import { scriptedDelay, scriptedOutcome } from './scripted-outcomes.js';
import { NoEngineError } from '../engines/engine-failures.js';
import { sourcesOf } from '../engines/engine-vocabulary.js';
import { CircuitBreaker } from '../engines/circuit-breaker.js';
import { AudioRejectedError, EngineError } from '../engines/transcription-engine.js';
import { stepOf, TRANSCRIPTION_QUEUE, type TranscriptionJob } from '../transcriptions.listener.js';
import { type TextProgress, TextProgressService } from './text-progress.service.js';
import { LongerThanCountedError, type TranscriptionResult } from './transcriber.service.js';
import { type ChainInput, type ChainResult, EngineChainService } from './engine-chain.service.js';

/** After this many crashes of the engine or decoder, the recording itself counts as the cause. */
const MAX_CRASHES = 5;
/** Delay before the next attempt: doubled each time, up to half an hour. */
const FIRST_DELAY_SECONDS = 2;
const MAX_DELAY_SECONDS = 1800;
/** While the decoder of this process does not work, which is looked at before each claim. */
const DECODER_DELAY_SECONDS = 5;
/** After three failed renewals in a row, a quarter of the lease is left. */
const RENEWALS_PER_LEASE = 4;

/** The worker is shutting down: it releases its recordings, so that another worker can claim them immediately. */
export class WorkerStoppingError extends Error {
  override readonly name = 'WorkerStoppingError';
}

/** How a run ended that the service answers for: with a text, or with crashes of the engine. */
export interface EndedRun {
  /** Null when none transcribed it. */
  engine: string | null;
  durationMs: number;
}

/** What is given to the chain, but for the length. */
type Audio = Omit<ChainInput, 'countedSeconds'>;

/** Brings one claimed recording to its terminal state, or releases it. */
@Injectable()
export class TranscriptionRunService {
  private readonly logger = new Logger(TranscriptionRunService.name);
  private readonly storageBreaker = new CircuitBreaker();

  constructor(
    private readonly leases: RecordingLeasesService,
    private readonly chain: EngineChainService,
    private readonly store: ObjectStore,
    @InjectQueue(TRANSCRIPTION_QUEUE) private readonly jobs: JobQueue<TranscriptionJob>,
    private readonly env: Env,
    private readonly progress: TextProgressService,
  ) {}

  /**
   * Throws only when the database cannot be reached.
   * @param stopping aborted with {@link WorkerStoppingError}.
   * @returns null when the recording goes on, or failed by its audio.
   */
  async perform(lease: Lease, stopping: AbortSignal): Promise<EndedRun | null> {
    const { id, run, rerun } = lease;
    // A link that was fetched waits since it was accepted.
    const work = { id, run, step: stepOf(rerun === null ? 'run' : 'rerun') };
    return await traces.consume(work, 'transcribe', describeTraced(lease), () => this.performLeased(lease, stopping));
  }

  private async performLeased(lease: Lease, stopping: AbortSignal): Promise<EndedRun | null> {
    if (lease.isTest) {
      await this.performScripted(lease, stopping);
      return null;
    }
    const lost = new AbortController();
    // While Postgres does not answer nobody else claims the recording: the token renews an expired lease, and finishes it.
    const everyMs = (this.env.leaseSeconds * 1000) / RENEWALS_PER_LEASE;
    const renewal = keepLease(() => this.leases.renew(lease), everyMs, lost);
    const signal = AbortSignal.any([stopping, lost.signal]);
    try {
      const progress = this.progress.of(lease);
      const outcome = await this.transcribe(lease, progress, signal);
      await progress.end();
      const isWritten = await this.finish(lease, outcome, signal);
      return isWritten ? { engine: outcome.transcript.provider, durationMs: outcome.durationMs } : null;
    } catch (error) {
      const isCrash = await this.handleFailure(lease, signal.aborted ? signal.reason : error);
      return isCrash ? { engine: null, durationMs: lease.durationMs } : null;
    } finally {
      clearInterval(renewal);
    }
  }

  /** One that is to take a while takes no place of another meanwhile. */
  private async performScripted(lease: Lease, signal: AbortSignal): Promise<void> {
    const delaySeconds = scriptedDelay(lease);
    if (delaySeconds > 0) return await this.leases.release(lease, { delaySeconds });
    const outcome = scriptedOutcome(lease);
    if (outcome.status === 'transcribed') {
      const { text, provider, model } = outcome.transcript;
      this.progress.of(lease).onText({ offset: 0, text }, { name: provider, model });
    }
    await this.finish(lease, outcome, signal);
  }

  private async transcribe(
    lease: Lease,
    { onText, onChunk }: TextProgress,
    signal: AbortSignal,
  ): Promise<Outcome & { status: 'transcribed' }> {
    const started = performance.now();
    const {
      accountId,
      audioFormat: format,
      sampleRate,
      channels,
      separateChannels,
      language,
      languages,
      translate,
      speakers,
    } = lease;
    const vocabulary = sourcesOf(lease.vocabulary, lease.accountVocabulary);
    // An estimate rules no engine out.
    const candidates = isEstimate(lease) ? { ...lease, durationMs: 0 } : lease;
    const engines = await this.chain.candidatesFor(candidates, lease.requestedEngine);
    signal.throwIfAborted();
    const result = await this.store.withFile(
      lease.objectKey,
      (file) => {
        this.storageBreaker.close();
        return this.transcribeCounted(lease, engines, {
          accountId,
          isBackground: isBackground(lease),
          file,
          format,
          sampleRate,
          channels,
          separateChannels,
          language,
          languages,
          translate,
          speakers,
          rerunOf: lease.rerun === null ? null : lease.id,
          ...(vocabulary && { vocabulary }),
          onText,
          onChunk,
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
        provider: result.provider,
        model: result.model,
        processingDurationMs: Math.round(performance.now() - started),
        words: result.words,
      },
      features: featuresOf(lease, result),
      durationMs: Math.round(result.durationSeconds * 1000),
      peaks: result.peaks,
    };
  }

  /**
   * Transcribes no more than what is counted for the account (D32). Where the length is an estimate, or turns out to be
   * longer, the audio is decoded first, and the length counted.
   */
  private async transcribeCounted(
    lease: Lease,
    engines: Awaited<ReturnType<EngineChainService['candidatesFor']>>,
    audio: Audio,
  ): Promise<ChainResult> {
    const settled = async (): Promise<ChainInput> => {
      const durationMs = Math.round((await this.chain.measure(audio)) * 1000);
      if (!(await this.leases.settleLength(lease, durationMs))) throw new LeaseLostError();
      return { ...audio, countedSeconds: durationMs / 1000 };
    };
    if (isEstimate(lease)) return await this.chain.transcribe(engines, await settled());
    try {
      return await this.chain.transcribe(engines, { ...audio, countedSeconds: lease.durationMs / 1000 });
    } catch (error) {
      if (!(error instanceof LongerThanCountedError)) throw error;
      return await this.chain.transcribe(engines, await settled());
    }
  }

  /** Retried while Postgres restarts, because a transcription may have taken minutes. A repeated finish is harmless. */
  private async finish(lease: Lease, outcome: Outcome, signal: AbortSignal): Promise<boolean> {
    if (outcome.status === 'transcribed') {
      const { provider, model } = outcome.transcript;
      const seconds = outcome.durationMs / 1000;
      traces.annotate({ 'voice_notes.engine': provider, 'voice_notes.model': model, [AUDIO_SECONDS]: seconds });
    }
    const finish = () => retryWhileUnavailable(() => this.leases.finish(lease, outcome), { signal });
    return await traces.span('commit', {}, finish);
  }

  /** @returns whether the recording failed by crashes of the engine. */
  private async handleFailure(lease: Lease, error: unknown): Promise<boolean> {
    traces.fail(error);
    if (error instanceof LeaseLostError) return false;
    const reason = this.audioProblem(lease, error);
    if (reason !== null) {
      await this.fail(lease, reason);
      return false;
    }
    if (error instanceof WorkerStoppingError) {
      await this.leases.release(lease);
      await this.jobs.enqueue({ recordingId: lease.id }, { deduplicationKey: `released-${Date.now()}` });
      return false;
    }
    // Nothing was begun, and a claim by another process may find an engine.
    if (error instanceof NoEngineError && !error.wasTried) {
      // A claim of the background does not know what this process postpones.
      await (isBackground(lease)
        ? this.leases.release(lease, { delaySeconds: error.waitSeconds })
        : this.leases.putBack(lease));
      return false;
    }
    const context = { err: error, recording_id: lease.id, attempt: lease.attempt };
    this.logger.warn(context, 'transcription attempt failed');
    const wait = await this.outageAfter(error);
    if (wait !== null) {
      // The attempt does not count, so that no outage, however long, fails a recording.
      await this.leases.release(lease, { delaySeconds: wait });
      return false;
    }
    const audioCleared = error instanceof EngineError && !error.audioSuspected;
    if (audioCleared || lease.faults + 1 < MAX_CRASHES) {
      await this.retryLater(lease, audioCleared ? 0 : 1);
      return false;
    }
    return await this.fail(lease, `The engine crashed ${MAX_CRASHES} times on this recording.`);
  }

  /** Why the recording fails at once; null when another attempt may help. */
  private audioProblem(lease: Lease, error: unknown): string | null {
    if (error instanceof ObjectNotFoundError) return 'The audio is no longer in storage.';
    if (!(error instanceof AudioRejectedError)) return null;
    const { cause } = error;
    if (cause) this.logger.warn({ recording_id: lease.id, engine_message: cause }, 'engine rejected the audio');
    return error.message;
  }

  /** Seconds to wait when the cause is something that all recordings need; null when it may be this recording. */
  private async outageAfter(error: unknown): Promise<number | null> {
    if (error instanceof StorageUnavailableError) return this.storageBreaker.open(error.message);
    if (error instanceof NoEngineError) return error.waitSeconds;
    if (!(error instanceof EngineError) || error.audioSuspected) return null;
    return (await this.chain.decodingProblem()) === null ? null : DECODER_DELAY_SECONDS;
  }

  /** @returns as `RecordingLeasesService.finish`. */
  private async fail(lease: Lease, reason: string): Promise<boolean> {
    return await traces.span('commit', {}, () => this.leases.finish(lease, { status: 'failed', reason }));
  }

  private async retryLater(lease: Lease, faults: 0 | 1): Promise<void> {
    const delaySeconds = Math.min(FIRST_DELAY_SECONDS * 2 ** (lease.attempt - 1), MAX_DELAY_SECONDS);
    await this.leases.release(lease, { delaySeconds, attempts: 1, faults });
  }
}

const AUDIO_SECONDS = 'voice_notes.audio.seconds';

const describeTraced = ({ id, accountId, run, attempt, durationMs }: Lease): SpanAttributes => ({
  'voice_notes.account.id': accountId,
  'voice_notes.recording.id': id,
  'voice_notes.run': run,
  'voice_notes.attempt': attempt,
  [AUDIO_SECONDS]: durationMs / 1000,
});

/** Whether the upload could not tell the length: it had to stop, or found none. That of a transcribed one was decoded. */
const isEstimate = ({ bitRate, rerun }: Lease): boolean => bitRate === null && rerun === null;

/** Some are there only when somebody asked for them. */
function featuresOf(
  lease: Lease,
  result: TranscriptionResult,
): Extract<Outcome, { status: 'transcribed' }>['features'] {
  return {
    speech_seconds: result.speechSeconds,
    no_speech: result.noSpeech,
    ...channelFeature(lease),
    ...(lease.translate && { task: 'translate' as const }),
    ...(result.languages && { languages: result.languages }),
    ...(result.vocabulary && { vocabulary: result.vocabulary }),
    ...(result.speakers !== undefined && { speakers: result.speakers }),
    ...(result.speakersProblem && { speakers_problem: result.speakersProblem }),
    ...(result.punctuationAdded && { punctuation: 'added' as const }),
  };
}
