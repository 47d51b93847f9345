import type { ChunkTranscript, TranscriptWord } from '../engines/transcription-engine.js';

/** The transcript of one chunk, and the chunk's position in the recording in seconds. */
export interface TranscribedChunk {
  start: number;
  seconds: number;
  transcript: ChunkTranscript;
}

export interface JoinedTranscript {
  text: string;
  confidence: number;
  /** The language of most of the speech; null without speech. */
  language: string | null;
  words: TranscriptWord[];
}

/**
 * Used when an engine reports no confidence, as newer hosted models do. The contract requires a number: 0 would mean "no
 * speech" and 1 certainty, so it is the middle.
 */
const UNKNOWN_CONFIDENCE = 0.5;

/** Joins the transcripts of a recording's chunks, in order. Chunks without speech do not count. */
export function joinTranscripts(chunks: readonly TranscribedChunk[]): JoinedTranscript {
  const spoken = chunks.filter(({ transcript }) => transcript.text.trim() !== '');
  const words = spoken.flatMap(({ start, transcript }) => transcript.words.map((word) => shifted(word, start)));
  // Without word times, the length of the chunk is the weight.
  const weight =
    words.length > 0
      ? (chunk: TranscribedChunk) => chunk.transcript.words.length
      : (chunk: TranscribedChunk) => chunk.seconds;
  return {
    text: spoken.map(({ transcript }) => transcript.text.trim()).join(' '),
    confidence: spoken.length === 0 ? 0 : rounded(weightedMean(spoken, confidenceOf, weight), 4),
    language: mostSpoken(spoken),
    words,
  };
}

/** The text of chunks as `joinTranscripts` joins it, one by one. */
export class TextJoiner {
  private length = 0;

  /** @returns what the chunk adds to the text, and the length of the text before it. Null for a chunk without speech. */
  add({ transcript }: TranscribedChunk): { offset: number; text: string } | null {
    const spoken = transcript.text.trim();
    if (spoken === '') return null;
    const offset = this.length;
    const text = offset === 0 ? spoken : ` ${spoken}`;
    this.length += text.length;
    return { offset, text };
  }
}

/** Rounded, which halves the length of the stored text. */
function shifted({ word, start, end, confidence }: TranscriptWord, by: number): TranscriptWord {
  const probability = confidence === null ? null : rounded(confidence, 4);
  return { word, start: rounded(start + by, 2), end: rounded(end + by, 2), confidence: probability };
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

function mostSpoken(chunks: TranscribedChunk[]): string | null {
  const seconds = new Map<string, number>();
  for (const { transcript, seconds: length } of chunks) {
    seconds.set(transcript.language, (seconds.get(transcript.language) ?? 0) + length);
  }
  const [most] = [...seconds].toSorted(([, a], [, b]) => b - a);
  return most?.[0] ?? null;
}
