import { Inject, Injectable, type OnApplicationShutdown, Optional } from '@nestjs/common';
import { Env } from '../../../platform/config/env.js';
import { ChunkCutter } from '../chunks/chunk-cutter.js';
import { FairQueue } from '../chunks/fair-queue.js';
import { transcribeChunks } from '../chunks/transcribe-chunks.js';
import { joinTranscripts, TextJoiner } from '../chunks/transcript-joiner.js';
import { type AudioSource, decode, decoderProblem } from '../decoding/decoder.js';
import { BYTES_PER_SECOND } from '../decoding/pcm.js';
import {
  AudioRejectedError,
  EngineUnavailableError,
  TRANSCRIPTION_ENGINE,
  type AudioChunk,
  type ChunkTranscript,
  type TranscribeOptions,
  type TranscriptionEngine,
  type TranscriptWord,
} from '../engines/transcription-engine.js';
import { dropInventedWords } from '../speech/invented/invented-words.js';
import { SpeechDetectionService } from '../speech/speech-detection.service.js';
import { Outage } from './outage.js';
import { storable } from './storable-transcript.js';
import { TRANSCRIPT_FILTERS, type FilterableTranscript, type TranscriptFilter } from './transcript-filter.js';

/** Longer chunks would make other accounts wait longer for their turn, and take more memory. */
const MAX_CHUNK_SECONDS = 120;
/** By each recording, beside those that are being transcribed: one being cut, one waiting for a slot. */
const CHUNKS_HELD = 2;

export interface AudioInput extends AudioSource {
  /** Whose share of the engine it uses (D33). */
  accountId: string;
  /** Lower-case English name, or null when the client gave none. */
  language: string | null;
  /** Length according to the file's header or last block; null or absent when unknown. Only a hint. */
  probedSeconds?: number | null;
  /** Called with each piece of the text, in order, and the length of the text before it. */
  onText?: (piece: { offset: number; text: string }) => void;
  signal: AbortSignal;
}

export interface TranscriptionResult {
  /** Of the decoded audio. */
  durationSeconds: number;
  text: string;
  /** 0–1. */
  confidence: number;
  /** Lower-case English name. */
  language: string;
  words: TranscriptWord[];
  speechSeconds: number | null;
  noSpeech: boolean;
}

/** Turns an audio file into its transcript: decodes it, cuts it at pauses, transcribes the chunks and joins the results. */
@Injectable()
export class TranscriberService implements OnApplicationShutdown {
  /** Recordings that may be transcribed at the same time within TRANSCRIPTION_MEMORY_MB. */
  readonly maxRecordings: number;
  /** Of the engine. */
  readonly outage = new Outage();
  private readonly queue: FairQueue;
  private readonly maxChunkSeconds: number;

  constructor(
    @Inject(TRANSCRIPTION_ENGINE) readonly engine: TranscriptionEngine,
    private readonly env: Env,
    private readonly speech: SpeechDetectionService,
    @Optional() @Inject(TRANSCRIPT_FILTERS) private readonly filters: readonly TranscriptFilter[] = [],
  ) {
    this.maxChunkSeconds = Math.min(engine.maxChunkSeconds, MAX_CHUNK_SECONDS);
    const memory = env.transcriptionMemoryMb << 20;
    const chunk = this.maxChunkSeconds * BYTES_PER_SECOND;
    const slots = Math.max(1, Math.min(engine.concurrency, Math.floor(memory / 2 / chunk)));
    this.queue = new FairQueue(slots);
    this.maxRecordings = Math.max(1, Math.floor((memory - slots * chunk) / (CHUNKS_HELD * chunk)));
  }

  /**
   * @throws AudioRejectedError when the audio can never be transcribed: its message is for the client. EngineError when a
   *   retry may succeed. The signal's reason when it is aborted.
   */
  async transcribe(audio: AudioInput): Promise<TranscriptionResult> {
    const { accountId, language, signal } = audio;
    this.refuseUnsupported(language);
    if ((audio.probedSeconds ?? 0) > this.env.maxAudioSeconds) await this.refuseTooLong(audio);
    const cutter = new ChunkCutter(this.maxChunkSeconds, this.speech.open());
    const texts = new TextJoiner();
    const transcripts = await transcribeChunks({
      chunks: (stop) => this.cut(audio, cutter, stop),
      transcribe: (chunk, stop) => this.recognise(chunk, { language, vocabulary: [], signal: stop }),
      queue: this.queue,
      accountId,
      onResult: (chunk) => {
        const piece = texts.add(chunk);
        // Filters need the whole text, and nobody may see a piece of it before.
        if (piece && this.filters.length === 0) audio.onText?.(piece);
      },
      signal,
    });
    const joined = joinTranscripts(transcripts);
    const { text, words } = joined;
    const spoken = joined.language ?? language ?? this.engine.defaultLanguage;
    return {
      durationSeconds: cutter.durationSeconds,
      confidence: joined.confidence,
      ...(await this.filter({ text, words, language: spoken })),
      speechSeconds: Math.round(cutter.speechSeconds * 100) / 100,
      noSpeech: text === '',
    };
  }

  /** Null when a recording may be claimed; otherwise what is missing and how to fix it, for an operator. */
  async problem(): Promise<string | null> {
    return (await decoderProblem(this.env.sandbox)) ?? this.outage.waitsFor ?? (await this.engine.problem());
  }

  /** The same, until a chunk was transcribed again. For the readiness check. */
  async readinessProblem(): Promise<string | null> {
    return this.outage.problem ?? (await this.problem());
  }

  async onApplicationShutdown(): Promise<void> {
    await this.engine.close();
  }

  private async recognise(chunk: AudioChunk, options: TranscribeOptions): Promise<ChunkTranscript> {
    try {
      const transcript = await this.engine.transcribe(chunk, options);
      this.outage.end();
      return storable(dropInventedWords(this.engine.name, chunk, transcript));
    } catch (error) {
      if (error instanceof EngineUnavailableError) this.outage.fail(error.message);
      throw error;
    }
  }

  private async filter(transcript: FilterableTranscript): Promise<FilterableTranscript> {
    let filtered = transcript;
    for (const filter of this.filters) {
      const { text, words } = await filter(filtered);
      filtered = { ...filtered, text, words };
    }
    return filtered;
  }

  private refuseUnsupported(language: string | null): void {
    const { languages } = this.engine;
    if (language === null || languages === 'any' || languages.includes(language)) return;
    throw new AudioRejectedError(`Language not supported: ${language}. Supported: ${languages.join(', ')}.`);
  }

  /**
   * Decodes without transcribing, which is minutes faster than finding out at the end. The decoded length decides, not
   * the header, which may be wrong.
   */
  private async refuseTooLong(audio: AudioInput): Promise<void> {
    let bytes = 0;
    for await (const pcm of this.decode(audio, audio.signal)) {
      bytes += pcm.length;
      this.checkLength(bytes / BYTES_PER_SECOND);
    }
  }

  private checkLength(seconds: number): void {
    const max = this.env.maxAudioSeconds;
    if (seconds > max) throw new AudioRejectedError(`The recording is longer than the maximum of ${max} seconds.`);
  }

  /** Cuts the audio while it is being decoded. */
  private async *cut(audio: AudioInput, cutter: ChunkCutter, signal: AbortSignal): AsyncGenerator<AudioChunk> {
    try {
      for await (const pcm of this.decode(audio, signal)) {
        yield* cutter.push(pcm);
        this.checkLength(cutter.durationSeconds);
      }
      yield* cutter.end();
    } finally {
      cutter.close();
    }
  }

  /** Decodes one second more than the maximum, to detect recordings that are too long. */
  private decode(audio: AudioInput, signal: AbortSignal): AsyncGenerator<Buffer> {
    return decode(audio, { maxSeconds: this.env.maxAudioSeconds + 1, signal, sandbox: this.env.sandbox });
  }
}
