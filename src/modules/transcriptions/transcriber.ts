import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Env } from '../../platform/config/env.js';
import { decode, decoderProblem, type AudioSource } from './decoding/decoder.js';
import { BYTES_PER_SECOND } from './decoding/pcm.js';
import { PieceCutter } from './decoding/piece-cutter.js';
import {
  AudioRefused,
  TRANSCRIPTION_ENGINE,
  type AudioPiece,
  type TranscriptionEngine,
  type TranscriptWord,
} from './engines/transcription-engine.js';
import { hearPieces } from './piece-hearing.js';
import { PieceQueue } from './piece-queue.js';
import { joinTranscripts } from './transcript-joiner.js';

export interface Note extends AudioSource {
  /** Lower-case English name, or null when the client named none. */
  language: string | null;
  /** The length its header or its last block gives; null or left out when unknown. Only a hint. */
  probedSeconds?: number | null;
  signal: AbortSignal;
}

export interface TranscribedNote {
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
export class Transcriber implements OnApplicationShutdown {
  private readonly queue: PieceQueue;

  constructor(
    @Inject(TRANSCRIPTION_ENGINE) readonly engine: TranscriptionEngine,
    private readonly env: Env,
  ) {
    this.queue = new PieceQueue(engine.concurrency);
  }

  /**
   * @throws AudioRefused when this note will never have a transcript: its message is for the client. EngineFault when
   *   another try may succeed. The signal's reason when it is aborted.
   */
  async transcribe(note: Note): Promise<TranscribedNote> {
    this.refuseUnspoken(note.language);
    if ((note.probedSeconds ?? 0) > this.env.maxAudioSeconds) await this.refuseTooLong(note);
    const cutter = new PieceCutter(this.engine.maxPieceSeconds);
    const { language } = note;
    const heard = await hearPieces({
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
    throw new AudioRefused(`The engine does not speak ${language}; it speaks ${languages.join(', ')}`);
  }

  /** Decodes without listening: minutes cheaper than finding out at the end. A header that lied changes nothing. */
  private async refuseTooLong(note: Note): Promise<void> {
    let bytes = 0;
    for await (const pcm of this.decode(note, note.signal)) {
      bytes += pcm.length;
      this.checkLength(bytes / BYTES_PER_SECOND);
    }
  }

  private checkLength(seconds: number): void {
    const max = this.env.maxAudioSeconds;
    if (seconds > max) throw new AudioRefused(`The recording is longer than the maximum of ${max} seconds`);
  }

  /** Decodes, and cuts as it goes. */
  private async *cut(note: Note, cutter: PieceCutter, signal: AbortSignal): AsyncGenerator<AudioPiece> {
    for await (const pcm of this.decode(note, signal)) {
      yield* cutter.push(pcm);
      this.checkLength(cutter.durationSeconds);
    }
    yield* cutter.end();
  }

  /** One second past the maximum, so that too long can be told. */
  private decode(note: Note, signal: AbortSignal): AsyncGenerator<Buffer> {
    return decode(note, { maxSeconds: this.env.maxAudioSeconds + 1, signal });
  }
}
