import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Env } from '../../../platform/config/env.js';
import { decode, decoderProblem, type AudioSource } from '../decoding/decoder.js';
import { BYTES_PER_SECOND } from '../decoding/pcm.js';
import { ChunkCutter } from '../chunks/chunk-cutter.js';
import {
  AudioRejectedError,
  TRANSCRIPTION_ENGINE,
  type AudioChunk,
  type TranscriptionEngine,
  type TranscriptWord,
} from '../engines/transcription-engine.js';
import { transcribeChunks } from '../chunks/transcribe-chunks.js';
import { FairQueue } from '../chunks/fair-queue.js';
import { joinTranscripts } from '../chunks/transcript-joiner.js';

export interface AudioInput extends AudioSource {
  /** Lower-case English name, or null when the client named none. */
  language: string | null;
  /** The length its header or its last block gives; null or left out when unknown. Only a hint. */
  probedSeconds?: number | null;
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

/** Turns an audio file into its transcript: decodes, cuts at pauses, lets the engine hear the pieces, joins. */
@Injectable()
export class TranscriberService implements OnApplicationShutdown {
  private readonly queue: FairQueue;

  constructor(
    @Inject(TRANSCRIPTION_ENGINE) readonly engine: TranscriptionEngine,
    private readonly env: Env,
  ) {
    this.queue = new FairQueue(engine.concurrency);
  }

  /**
   * @throws AudioRejectedError when this note will never have a transcript: its message is for the client. EngineError when
   *   another try may succeed. The signal's reason when it is aborted.
   */
  async transcribe(note: AudioInput): Promise<TranscriptionResult> {
    this.refuseUnspoken(note.language);
    if ((note.probedSeconds ?? 0) > this.env.maxAudioSeconds) await this.refuseTooLong(note);
    const cutter = new ChunkCutter(this.engine.maxChunkSeconds);
    const { language } = note;
    const heard = await transcribeChunks({
      pieces: (signal) => this.cut(note, cutter, signal),
      hear: (piece, signal) => this.engine.transcribe(piece, { language, signal }),
      queue: this.queue,
      signal: note.signal,
    });
    const joined = joinTranscripts(heard);
    return {
      durationSeconds: cutter.durationSeconds,
      ...joined,
      language: joined.language ?? language ?? this.engine.defaultLanguage,
      speechSeconds: Math.round(cutter.speechSeconds * 100) / 100,
      noSpeech: joined.text === '',
    };
  }

  /** Null when notes can be transcribed; otherwise what is missing and how to mend it, for an operator. */
  async problem(): Promise<string | null> {
    return decoderProblem() ?? (await this.engine.problem());
  }

  async onApplicationShutdown(): Promise<void> {
    await this.engine.close();
  }

  private refuseUnspoken(language: string | null): void {
    const { languages } = this.engine;
    if (language === null || languages === 'any' || languages.includes(language)) return;
    throw new AudioRejectedError(`The engine does not speak ${language}; it speaks ${languages.join(', ')}`);
  }

  /** Decodes without listening: minutes cheaper than finding out at the end. A header that lied changes nothing. */
  private async refuseTooLong(note: AudioInput): Promise<void> {
    let bytes = 0;
    for await (const pcm of this.decode(note, note.signal)) {
      bytes += pcm.length;
      this.checkLength(bytes / BYTES_PER_SECOND);
    }
  }

  private checkLength(seconds: number): void {
    const max = this.env.maxAudioSeconds;
    if (seconds > max) throw new AudioRejectedError(`The recording is longer than the maximum of ${max} seconds`);
  }

  /** Decodes, and cuts as it goes. */
  private async *cut(note: AudioInput, cutter: ChunkCutter, signal: AbortSignal): AsyncGenerator<AudioChunk> {
    for await (const pcm of this.decode(note, signal)) {
      yield* cutter.push(pcm);
      this.checkLength(cutter.durationSeconds);
    }
    yield* cutter.end();
  }

  /** One second past the maximum, so that too long can be told. */
  private decode(note: AudioInput, signal: AbortSignal): AsyncGenerator<Buffer> {
    return decode(note, { maxSeconds: this.env.maxAudioSeconds + 1, signal });
  }
}
