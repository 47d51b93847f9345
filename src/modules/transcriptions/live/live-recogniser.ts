import type { TranscriptWord } from '../engines/transcription-engine.js';

/** Recognises one utterance after the other. Times of words are seconds from the start of their utterance. */
export interface LiveRecogniser {
  /** Name and model of the engine. */
  readonly provider: string;
  readonly model: string;
  /** Longest utterance, in seconds. */
  readonly maxSeconds: number;

  /**
   * Takes the next audio of the utterance: 16 kHz, mono, s16le.
   * @returns the words that have become stable, which are those after the ones before. @throws EngineError
   */
  add(pcm: Buffer): Promise<readonly TranscriptWord[]>;

  /** Ends the utterance. @returns all of its words. @throws EngineError */
  end(): Promise<UtteranceText>;

  /** Gives the utterance up. */
  drop(): void;

  /** Frees what it holds, also in the middle of an utterance. */
  close(): void;
}

export interface UtteranceText {
  text: string;
  words: readonly TranscriptWord[];
}

/** There are no words while one speaks. The message is for the client. */
export class NoLiveWordsError extends Error {
  override readonly name = 'NoLiveWordsError';
}
