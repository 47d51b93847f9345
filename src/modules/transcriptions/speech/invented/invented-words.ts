import type { AudioChunk, ChunkTranscript, SpeechSection, TranscriptWord } from '../../engines/transcription-engine.js';
import { countDropped, type DropReason } from './dropped-words.js';
import { findLoops, type Loop, repeatsOf } from './loops.js';

/** Engines place words up to this far from where they were said. */
const MARGIN_SECONDS = 0.5;
/** A word at least as likely as not stays wherever it stands. */
const CONFIDENT = 0.5;
/** The fastest speakers reach 10 to 11. */
const MAX_WORDS_PER_SECOND = 12;

/**
 * Leaves out words that nobody said, and counts them. Only what is certain goes:
 * - a word that lies wholly in a pause, at least half a second from any speech, and that the engine does not trust itself
 *   or repeats over and over;
 * - the repeats of a phrase that stands five times in a row or more, faster than anybody can speak. The first stays.
 */
export function dropInventedWords(engine: string, chunk: AudioChunk, transcript: ChunkTranscript): ChunkTranscript {
  const { words } = transcript;
  const reasons = new Map<number, DropReason>();
  const loops = findLoops(words.map(({ word }) => word));
  const looped = new Set(loops.flatMap(repeatsOf));
  for (const [index, word] of words.entries()) {
    const doubted = word.confidence === null || word.confidence < CONFIDENT || looped.has(index);
    if (doubted && chunk.speech && isInPause(word, chunk.speech)) reasons.set(index, 'silence');
  }
  for (const loop of loops.filter((found) => isTooFast(found, words))) {
    for (const index of repeatsOf(loop)) reasons.set(index, 'repetition');
  }
  const text = reasons.size === 0 ? null : textWithout(transcript, reasons);
  if (text === null) return transcript;
  for (const reason of reasons.values()) countDropped(engine, reason, 1);
  const kept = words.filter((_, index) => !reasons.has(index));
  return { ...transcript, text, words: kept, confidence: confidenceOf(kept) ?? transcript.confidence };
}

function isInPause(word: TranscriptWord, speech: readonly SpeechSection[]): boolean {
  return speech.every(({ start, end }) => word.end <= start - MARGIN_SECONDS || word.start >= end + MARGIN_SECONDS);
}

function isTooFast({ start, end }: Loop, words: readonly TranscriptWord[]): boolean {
  // Without this, an engine that gives no times would seem infinitely fast.
  if (!words.some((word) => word.end > word.start)) return false;
  const seconds = (words[end - 1]?.end ?? 0) - (words[start]?.start ?? 0);
  return end - start > seconds * MAX_WORDS_PER_SECOND;
}

/** Null if the words cannot all be found in the text; then nothing is left out. */
function textWithout({ text, words }: ChunkTranscript, dropped: ReadonlyMap<number, unknown>): string | null {
  const positions: number[] = [];
  let from = 0;
  for (const { word } of words) {
    const position = text.indexOf(word, from);
    if (position < 0) return null;
    positions.push(position);
    from = position + word.length;
  }
  const kept = positions.map((position, index) =>
    dropped.has(index) ? '' : text.slice(position, positions[index + 1]),
  );
  return (text.slice(0, positions[0]) + kept.join('')).trim();
}

/** The mean; null unless every word has one. */
function confidenceOf(words: readonly TranscriptWord[]): number | null {
  const known = words.flatMap(({ confidence }) => confidence ?? []);
  if (known.length === 0 || known.length < words.length) return null;
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}
