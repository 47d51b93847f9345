import { Counter } from 'prom-client';
import type { AudioChunk, ChunkTranscript, SpeechSection, TranscriptWord } from '../engines/transcription-engine.js';

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
  return { ...transcript, text, words: kept, confidence: meanConfidence(kept) ?? transcript.confidence };
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

/** Null unless every word has a confidence. */
export function meanConfidence(words: readonly TranscriptWord[]): number | null {
  const known = words.flatMap(({ confidence }) => confidence ?? []);
  if (known.length === 0 || known.length < words.length) return null;
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** Units `start + phrase` up to `end` repeat the phrase that begins at `start`. */
export interface Loop {
  start: number;
  /** Length of the phrase. */
  phrase: number;
  end: number;
}

/** A phrase that is repeated less often may well be said. */
const MIN_TIMES = 5;
const MAX_PHRASE = 12;

/**
 * Finds the places where the same phrase stands at least five times in a row, as when Whisper is caught in a loop. That
 * alone does not prove that nobody said it.
 */
export function findLoops(texts: readonly string[]): Loop[] {
  const units = texts.map(plain);
  const loops: Loop[] = [];
  for (let at = 0; at < units.length;) {
    const loop = loopAt(units, at);
    if (loop) loops.push(loop);
    at = loop?.end ?? at + 1;
  }
  return loops;
}

/** The text without the repeats of its loops. */
export function withoutRepeats(text: string): string {
  const words = text.trim().split(/\s+/);
  const repeats = new Set(findLoops(words).flatMap(repeatsOf));
  return words.filter((_, index) => !repeats.has(index)).join(' ');
}

/** Indexes of the units that only repeat. */
export function repeatsOf({ start, phrase, end }: Loop): number[] {
  return Array.from({ length: end - start - phrase }, (_, index) => start + phrase + index);
}

/** The shortest phrase that loops from here. */
function loopAt(units: readonly string[], start: number): Loop | null {
  for (let phrase = 1; phrase <= MAX_PHRASE; phrase++) {
    let end = start + phrase;
    while (end < units.length && units[end] === units[end - phrase]) end++;
    const times = Math.floor((end - start) / phrase);
    if (times >= MIN_TIMES) return { start, phrase, end: start + times * phrase };
  }
  return null;
}

/** Without case and punctuation. */
function plain(unit: string): string {
  return unit
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();
}

/**
 * `no_speech`: the engine itself doubts that anybody speaks. `silence`: the words lie in a pause. `repetition`: the engine
 * was caught in a loop.
 */
export type DropReason = 'no_speech' | 'silence' | 'repetition';

/** Registered by the worker. */
export const droppedWords = new Counter({
  name: 'invented_words_dropped_total',
  help: 'Words that an engine reported where nobody said them, and that were left out, by engine and reason.',
  labelNames: ['engine', 'reason'] as const,
  registers: [],
});

export function countDropped(engine: string, reason: DropReason, words: number): void {
  if (words > 0) droppedWords.inc({ engine, reason }, words);
}

export function wordCount(text: string): number {
  return text.split(/\s+/).filter(Boolean).length;
}
