import type { Env } from '../../../platform/config/env.js';
import type { Calibration } from './calibration.js';

/**
 * The port between the service and a speech recogniser. An engine receives chunks of 16 kHz mono audio and returns the
 * transcript of each. Decoding, cutting and joining are the same for every engine and happen outside it.
 */
export interface TranscriptionEngine {
  /** Shown to clients as `provider`. */
  readonly name: string;
  /** Shown to clients as `model`. */
  readonly model: string;
  /** Supported languages as lower-case English names, or `any`. */
  readonly languages: readonly string[] | 'any';
  /** The language of a recording without speech, and of every recording if the engine cannot detect languages. */
  readonly defaultLanguage: string;
  /** Maximum length of a chunk in seconds. */
  readonly maxChunkSeconds: number;
  /** Chunks that this process may transcribe at the same time. */
  readonly concurrency: number;
  /** Whether it detects the language of a chunk that comes without one, and sets `languageDetected`. Default: no. */
  readonly detectsLanguage?: boolean;
  /** Whether the text of a chunk is the same whatever language it is told. Default: no. */
  readonly ignoresLanguage?: boolean;
  /** Whether it writes in English what is said in any language, if it is told to `translate`. Default: no. */
  readonly translates?: boolean;
  /** Whether it sets the `speaker` of words if it is asked to. A name stands for the same voice in all chunks. Default: no. */
  readonly labelsSpeakers?: boolean;
  /** Terms of a vocabulary that it takes with a chunk; absent or 0 when it takes none. */
  readonly maxVocabularyTerms?: number;
  /** What its confidences are worth. Without it they are taken as they are. */
  readonly calibration?: Calibration;

  /**
   * @throws AudioRejectedError when the engine will never accept this audio; EngineError when a retry may succeed.
   */
  transcribe(chunk: AudioChunk, options: TranscribeOptions): Promise<ChunkTranscript>;

  /** Null when the engine can work; otherwise one sentence for an operator: what is wrong and how to fix it. */
  problem(): Promise<string | null>;

  close(): Promise<void>;
}

/** Registers an engine: those of the core in engine-registry.ts, others in `engines` of an extension. */
export interface EngineDefinition {
  /** Its name in TRANSCRIPTION_ENGINE and in the engines of an account. */
  readonly name: string;

  /** Must not start processes or open connections yet: the first chunk or `problem` does. */
  create(env: Env): TranscriptionEngine;

  /**
   * Whether `auto` may select the engine, and accounts may have it. An engine without this function has to be named in
   * TRANSCRIPTION_ENGINE.
   */
  isConfigured?(env: Env): boolean;

  /** The variables that `isConfigured` looks at, for the error when the engine is selected without them. */
  readonly variables?: string;

  /** The variable that names its model, for `npm run accuracy -- --model`. */
  readonly modelVariable?: string;
}

/** A section of decoded audio. `pcm`: 16 kHz, mono, signed 16-bit little-endian. `start`: seconds into the recording. */
export interface AudioChunk {
  pcm: Buffer;
  start: number;
  /** Where somebody speaks, in order. Absent when only the level of the sound is known. */
  speech?: readonly SpeechSection[];
  /** It ends within speech, and the next chunk begins with its last seconds (D89). */
  continues?: true;
}

/** In seconds from the start of the chunk. */
export interface SpeechSection {
  start: number;
  end: number;
}

export interface TranscribeOptions {
  /** Lower-case English name. Null: the engine detects the language, or assumes its default. */
  language: string | null;
  /** Only with `language` null: the chunk is in one of these, and what the engine detects is compared with them (D69). */
  languages?: readonly string[];
  /** The text is to be in English; only an engine that `translates` gets it (D71). */
  translate?: boolean;
  /** How many speakers to tell apart, 0: as many as there are. Only for an engine that `labelsSpeakers`, and if asked for. */
  speakers?: number;
  /** Names and words to expect, the most important first: at most `maxVocabularyTerms` of the engine (D48). */
  vocabulary: readonly string[];
  signal: AbortSignal;
}

/** `confidence` is 0–1, or null if the engine reports none. Word times are seconds from the start of the chunk. */
export interface ChunkTranscript {
  text: string;
  confidence: number | null;
  language: string;
  /** Whether the engine has found out the language from the audio. */
  languageDetected?: boolean;
  words: TranscriptWord[];
}

/** Times in seconds; `confidence` is 0–1, or null if the engine reports none. */
export interface TranscriptWord {
  word: string;
  start: number;
  end: number;
  confidence: number | null;
  /** 0 is the first. Only of a recording whose channels were transcribed each on its own; never from an engine. */
  channel?: number;
  /** Who says it: what an engine that `labelsSpeakers` calls them; then `A`, `B`, and so on (D86). */
  speaker?: string;
}

/** This audio can never be transcribed: not decodable, too long, or in an unsupported language. Not retried. */
export class AudioRejectedError extends Error {
  override readonly name = 'AudioRejectedError';
}

/** The engine or the decoder crashed, hung or could not be reached. A retry may succeed. */
export class EngineError extends Error {
  override readonly name: string = 'EngineError';

  constructor(
    message: string,
    /** Whether the audio may be the cause: true for a crashed child process, false for a server that is down. */
    readonly audioSuspected: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * The engine does no work for anybody now: it cannot be reached, or refuses the key, the quota, the model or the number
 * of requests. Recordings wait for it, however long that takes, and no attempt is counted.
 */
export class EngineUnavailableError extends EngineError {
  override readonly name = 'EngineUnavailableError';

  /** @param message for an operator: what is wrong and how to fix it. */
  constructor(message: string, options?: ErrorOptions) {
    super(message, false, options);
  }
}
