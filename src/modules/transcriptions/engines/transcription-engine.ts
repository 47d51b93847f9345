/**
 * The port between the service and whatever recognises speech. An engine is given pieces of 16 kHz mono audio and
 * returns what was said in each; decoding, cutting and joining are done once, for every engine, by the transcriber.
 */
export interface TranscriptionEngine {
  /** Shown to clients as `provider`. */
  readonly name: string;
  /** Shown to clients as `model`. */
  readonly model: string;
  /** Lower-case English names of the languages it speaks, or `any`. */
  readonly languages: readonly string[] | 'any';
  /** The language that is assumed for a note without speech and, where the engine cannot detect one, for every note. */
  readonly defaultLanguage: string;
  /** Longest piece in seconds that one call takes. */
  readonly maxChunkSeconds: number;
  /** Pieces that can be worked on at the same time in this process. */
  readonly concurrency: number;

  /**
   * @throws AudioRejectedError when the engine will never take this audio; EngineError when it may work another time.
   */
  transcribe(piece: AudioChunk, options: TranscribeOptions): Promise<ChunkTranscript>;

  /** Null when the engine can work; otherwise what is wrong and how to mend it, in one sentence for an operator. */
  problem(): Promise<string | null>;

  close(): Promise<void>;
}

/** Nest's name for the engine in use: an interface has none at run time. */
export const TRANSCRIPTION_ENGINE = Symbol('TranscriptionEngine');

/** A run of decoded audio. `pcm`: 16 kHz, mono, signed 16-bit little-endian. `start`: seconds from the note's start. */
export interface AudioChunk {
  pcm: Buffer;
  start: number;
}

export interface TranscribeOptions {
  /** Lower-case English name; null lets an engine that can detect the language do so. */
  language: string | null;
  signal: AbortSignal;
}

/** `confidence` 0–1, or null where the engine gives none. Word times: seconds from the start of the piece. */
export interface ChunkTranscript {
  text: string;
  confidence: number | null;
  language: string;
  words: TranscriptWord[];
}

/** Times in seconds, `confidence` 0–1 or null where the engine gives none. */
export interface TranscriptWord {
  word: string;
  start: number;
  end: number;
  confidence: number | null;
}

/** This audio will never be transcribed: not decodable, too long, a language nobody here speaks. Not tried again. */
export class AudioRejectedError extends Error {
  override readonly name = 'AudioRejectedError';
}

/** The engine or the decoder crashed, hung or was out of reach: worth another try. */
export class EngineError extends Error {
  override readonly name = 'EngineError';

  constructor(
    message: string,
    /** Whether this audio may be to blame: a crashed child may, a server that is down is not the note's fault. */
    readonly audioSuspected: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
