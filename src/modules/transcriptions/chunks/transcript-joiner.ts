import type { ChunkTranscript, TranscriptWord } from '../engines/transcription-engine.js';

/** What was heard in one piece, and where the piece lies in the note. Seconds. */
export interface TranscribedChunk {
  start: number;
  seconds: number;
  transcript: ChunkTranscript;
}

export interface JoinedTranscript {
  text: string;
  confidence: number;
  /** The language of most of the speech; null when nothing was said. */
  language: string | null;
  words: TranscriptWord[];
}

/**
 * Stands for the confidence of an engine that gives none (newer hosted models return text alone). The contract wants
 * a number; 0 would read as "no speech" and 1 as a promise, so it is the middle.
 */
const UNKNOWN_CONFIDENCE = 0.5;

/** Joins what was heard in the pieces of one note, in their order. Pieces in which nothing was said do not count. */
export function joinTranscripts(pieces: readonly TranscribedChunk[]): JoinedTranscript {
  const heard = pieces.filter(({ transcript }) => transcript.text.trim() !== '');
  const words = heard.flatMap(({ start, transcript }) => transcript.words.map((word) => shifted(word, start)));
  // Text without word times still has a length.
  const weigh =
    words.length > 0
      ? (piece: TranscribedChunk) => piece.transcript.words.length
      : (piece: TranscribedChunk) => piece.seconds;
  return {
    text: heard.map(({ transcript }) => transcript.text.trim()).join(' '),
    confidence: heard.length === 0 ? 0 : rounded(weightedMean(heard, confidenceOf, weigh), 4),
    language: mostSpoken(heard),
    words,
  };
}

/** Rounded: the stored text is half as long, and nobody measures speech in microseconds. */
function shifted({ word, start, end, confidence }: TranscriptWord, by: number): TranscriptWord {
  const likely = confidence === null ? null : rounded(confidence, 4);
  return { word, start: rounded(start + by, 2), end: rounded(end + by, 2), confidence: likely };
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

function confidenceOf({ transcript }: TranscribedChunk): number {
  if (transcript.confidence !== null) return transcript.confidence;
  const known = transcript.words.flatMap((word) => word.confidence ?? []);
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : UNKNOWN_CONFIDENCE;
}

function weightedMean<T>(items: T[], value: (item: T) => number, weight: (item: T) => number): number {
  const total = items.reduce((sum, item) => sum + weight(item), 0);
  if (total === 0) return UNKNOWN_CONFIDENCE;
  return items.reduce((sum, item) => sum + value(item) * weight(item), 0) / total;
}

function mostSpoken(pieces: TranscribedChunk[]): string | null {
  const seconds = new Map<string, number>();
  for (const { transcript, seconds: length } of pieces) {
    seconds.set(transcript.language, (seconds.get(transcript.language) ?? 0) + length);
  }
  const [most] = [...seconds].toSorted(([, a], [, b]) => b - a);
  return most?.[0] ?? null;
}
