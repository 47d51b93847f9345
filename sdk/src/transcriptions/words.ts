/** A word and when it is spoken. */
export interface TranscriptionWord {
  word: string;
  /** Seconds from the start of the recording. */
  start: number;
  /** Seconds from the start of the recording. */
  end: number;
  /** 0 to 1; null where the engine, or a person who corrected the text, gives none. */
  confidence: number | null;
  /** 0 or 1, only after an upload with `channels: 'separate'`. */
  channel?: number;
  /** Who says it: `A`, `B` and so on. Only where speakers are told apart. */
  speaker?: string;
}

/** The words of a transcription, which has them as JSON text. */
export function wordsOf({ words }: { words: string }): TranscriptionWord[] {
  return JSON.parse(words) as TranscriptionWord[];
}
