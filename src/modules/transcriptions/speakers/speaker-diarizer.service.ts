import { stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { sharedRun } from '../../../platform/concurrency/shared-run.js';
import { Env } from '../../../platform/config/env.js';
import { availableBytes } from '../../../platform/processes/resources.js';
import { selectedModel } from '../../models/installed-models.js';
import { ModelError } from '../../models/model-folder.js';
import { readSpeakerModel, type SpeakerKind, type SpeakerModel } from '../../models/speaker-model.js';
import { BYTES_PER_SECOND } from '../audio/pcm.js';
import { ChildPool } from '../engines/children/child-pool.js';
import { CHILD_READS, childFile, type EngineChild } from '../engines/children/engine-child.js';
import { EngineError, EngineUnavailableError } from '../engines/transcription-engine.js';
import type { HeardSpeakers } from '../engines/children/child-messages.js';
import type { DiarizeInput, SpeakerSegment } from './speaker-diarizer.js';
import { bytesFor, MAX_SECONDS, secondsFor, type SpeakerSettings } from './speaker-settings.js';
import { tidySegments } from './tidy-segments.js';

interface Models {
  segmentation: SpeakerModel;
  embedding: SpeakerModel;
}

const NO_MODELS =
  'No models for speakers are selected on this server; its operator does so with npm run models -- use NAME.';
const BROKEN_MODELS = 'The models for speakers cannot be used on this server; its log says why.';
const FAILED = 'Telling the speakers of this recording apart failed.';

/** A recording takes 0.1 to 0.5 s per second of audio. Ten times that counts as a hang. */
const LIMIT = { baseMs: 60_000, perAudioSecondMs: 5_000 };
const LOAD_LIMIT_MS = 300_000;
/** So long broken models are not read again. */
const RECHECK_MS = 10_000;
/** Children that had nothing to do for so long are closed. */
const IDLE_MS = 60_000;
/** onnxruntime holds the files and the weights made of them at the same time while it loads. */
const TIMES_FILES = 3;
const WORKING_BYTES = 256 * 2 ** 20;
/** Resident memory from which a child is replaced: more is what earlier recordings left behind. */
const REPLACED_FROM_BYTES = 384 * 2 ** 20;
/** Of the machine's memory for each process, where SPEAKER_MEMORY_MB does not say. */
const SHARE = 0.2;
const DEFAULT_PROCESSES = 2;
/** Of two hours of quick turns: 10,000 segments. */
const MAX_LINE_BYTES = 4 * 2 ** 20;
/** The length of a recording, and of its decoded audio. */
const TOLERANCE_SECONDS = 1;

/** Tells who speaks when in a whole recording: sherpa-onnx, in sandboxed processes that are started when needed. */
@Injectable()
export class SpeakerDiarizerService implements OnApplicationShutdown {
  private readonly logger = new Logger(SpeakerDiarizerService.name);
  private readonly memoryBytes: number;
  private readonly modelsProblem = sharedRun(async () => this.load(), RECHECK_MS);
  private models: Models | null = null;
  private pool: ChildPool | null = null;
  private idle: NodeJS.Timeout | null = null;
  private running = 0;

  constructor(private readonly env: Env) {
    this.memoryBytes = env.speakerMemoryMb === null ? SHARE * availableBytes() : env.speakerMemoryMb * 2 ** 20;
    this.load();
  }

  /** For `features.speakers.model`: the names of both models; null without them. */
  get model(): string | null {
    if (!this.models) return null;
    return [this.models.segmentation, this.models.embedding].map(({ folder }) => path.basename(folder)).join(' + ');
  }

  /** The longest recording for which a process has memory. */
  get maxSeconds(): number {
    return Math.min(MAX_SECONDS, Math.floor(secondsFor(this.memoryBytes)));
  }

  /** Null when it works; otherwise one sentence, for clients and operators: what is wrong. */
  async problem(): Promise<string | null> {
    return (await this.modelsProblem()) ?? (await this.processesProblem());
  }

  /**
   * @returns sorted by start, within the audio, without voices of a few hundred milliseconds
   * @throws EngineError with a message for clients. The signal's reason when it is aborted.
   */
  async diarize({
    pcmFile,
    seconds,
    speakers,
    accountId,
    isBackground,
    signal,
  }: DiarizeInput): Promise<SpeakerSegment[]> {
    signal.throwIfAborted();
    const problem = await this.modelsProblem();
    if (problem !== null) throw new EngineUnavailableError(problem);
    const bytes = await audioBytes(pcmFile, seconds);
    const audioSeconds = bytes / BYTES_PER_SECOND;
    if (audioSeconds > this.maxSeconds) throw new EngineError(this.tooLong(), false);
    const entry = this.processes().join(accountId, isBackground);
    this.begin();
    try {
      const limitMs = LIMIT.baseMs + audioSeconds * LIMIT.perAudioSecondMs;
      const request = { audio: { file: pcmFile, bytes }, speakers, limitMs, signal };
      const { segments } = await this.processes().run(entry, (child) => this.ask(child, request), signal, audioSeconds);
      return tidySegments(segments, Math.min(seconds, audioSeconds), speakers);
    } catch (error) {
      if (signal.aborted) throw error;
      throw this.failure(error);
    } finally {
      entry.leave();
      this.finish();
    }
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.idle) clearTimeout(this.idle);
    await this.pool?.close();
  }

  /** Ends the child when the recording is not wanted any more: it would be at it for as long as an hour. */
  private async ask(child: EngineChild, { audio, speakers, limitMs, signal }: AskedRecording): Promise<HeardSpeakers> {
    const end = (): void => void child.close();
    signal.addEventListener('abort', end);
    try {
      const answer = await child.ask(audio, { speakers }, limitMs);
      if (!('speakers' in answer)) return child.refuse();
      if (answer.speakers.residentBytes > this.replacedFromBytes) await child.close();
      return answer.speakers;
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  private get replacedFromBytes(): number {
    return REPLACED_FROM_BYTES + TIMES_FILES * this.modelBytes;
  }

  private get modelBytes(): number {
    return (this.models?.segmentation.bytes ?? 0) + (this.models?.embedding.bytes ?? 0);
  }

  private tooLong(): string {
    const minutes = Math.floor(this.maxSeconds / 60);
    return `Speakers are told apart in recordings of up to ${minutes} minutes on this server (SPEAKER_MEMORY_MB).`;
  }

  private failure(error: unknown): EngineError {
    const isUnavailable = error instanceof EngineUnavailableError;
    this.logger.warn({ err: error }, 'speaker diarization failed');
    if (isUnavailable) return new EngineUnavailableError(BROKEN_MODELS, { cause: error });
    return new EngineError(FAILED, error instanceof EngineError && error.audioSuspected, { cause: error });
  }

  private async processesProblem(): Promise<string | null> {
    this.begin();
    try {
      const problem = await this.processes().problem();
      if (problem === null) return null;
      this.logger.warn({ cause: problem }, 'models for speakers cannot be used');
      return BROKEN_MODELS;
    } finally {
      this.finish();
    }
  }

  private begin(): void {
    this.running++;
    if (this.idle) clearTimeout(this.idle);
  }

  private finish(): void {
    if (--this.running > 0) return;
    this.idle = setTimeout(() => void this.pool?.closeIdle(), IDLE_MS).unref();
  }

  /** Null when both models are complete. */
  private load(): string | null {
    if (this.models) return null;
    try {
      const [segmentation, embedding] = [
        this.modelOf('speaker-segmentation', this.env.speakerSegmentationModel),
        this.modelOf('speaker-embedding', this.env.speakerEmbeddingModel),
      ];
      if (!segmentation || !embedding) return NO_MODELS;
      this.models = { segmentation, embedding };
      return null;
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      this.logger.warn({ cause: error.message }, 'models for speakers cannot be used');
      return BROKEN_MODELS;
    }
  }

  private modelOf(kind: SpeakerKind, given: string | null): SpeakerModel | null {
    const name = given ?? selectedModel(this.env.modelsFolder, kind);
    if (name === null) return null;
    const folder = path.resolve(this.env.modelsFolder, name);
    const model = readSpeakerModel(folder);
    if (model?.kind !== kind) throw new ModelError(`${folder} holds no model of the kind ${kind}`);
    return model;
  }

  private processes(): ChildPool {
    if (!this.models) throw new Error('No models were read');
    const { segmentation, embedding } = this.models;
    const settings: SpeakerSettings = {
      segmentation: segmentation.file,
      embedding: embedding.file,
      window: segmentation.window,
      threshold: this.env.speakerThreshold / 100,
    };
    const module = {
      file: childFile('speakers/speaker'),
      args: [JSON.stringify(settings)],
      reads: [...segmentation.reads, ...embedding.reads, ...CHILD_READS] as const,
      modelBytes: WORKING_BYTES + TIMES_FILES * this.modelBytes + bytesFor(this.maxSeconds),
      loadLimitMs: LOAD_LIMIT_MS,
      maxLineBytes: MAX_LINE_BYTES,
    };
    const size = this.env.speakerProcesses ?? Math.min(DEFAULT_PROCESSES, os.availableParallelism());
    this.pool ??= new ChildPool(module, size, this.env.sandbox);
    return this.pool;
  }
}

interface AskedRecording {
  audio: { file: string; bytes: number };
  speakers: number | null;
  limitMs: number;
  signal: AbortSignal;
}

/** Of whole samples, and no more than the recording has. */
async function audioBytes(file: string, seconds: number): Promise<number> {
  const { size } = await stat(file);
  const bytes = Math.min(size, Math.ceil((seconds + TOLERANCE_SECONDS) * BYTES_PER_SECOND));
  return bytes - (bytes % 2);
}
