import type { ErrorCounts } from '../statistics/word-errors.js';

/** One recording: what was said, what was recognised, and how the two differ. */
export interface FileResult {
  file: string;
  lang: string | null;
  /** Length of the decoded audio. */
  seconds: number;
  ref: string;
  text: string;
  errors: ErrorCounts;
  /** Whether words or characters are counted. */
  unit: 'word' | 'character';
  confidence: number;
  /** For each word with a confidence: the word, its confidence, and 1 if it was said there, else 0. */
  words: [word: string, confidence: number, correct: 0 | 1][];
  /** Why there is no text; null when there is one. */
  problem: string | null;
}

/** What a measurement leaves behind, as a file of JSON that can be compared with others. */
export interface AccuracyResult {
  format: 1;
  engine: string;
  model: string;
  /** Base name of the folder. */
  recordings: string;
  date: string;
  /** Whether the confidences are those of the engine, without the mapping of the service. */
  rawConfidence: boolean;
  /** Recordings that were transcribed at the same time. */
  jobs: number;
  /** For all recordings, without the start of the engine. */
  wallSeconds: number;
  /** CPU time of all processes of the service on this machine; null where it cannot be told. */
  cpuSeconds: number | null;
  /** Recordings that were not measured, and why. */
  skipped: { file: string; reason: string }[];
  files: FileResult[];
}
