import { deflateSync } from 'node:zlib';
import { countDropped, findLoops, repeatsOf, withoutRepeats, wordCount } from '../../speech/invented-words.js';
import type { TranscriptWord } from '../transcription-engine.js';

/** A segment of the response. `logprob`: mean natural logarithm of the token probabilities. Times in seconds. */
export interface Segment {
  text: string;
  start: number;
  end: number;
  logprob: number | null;
  noSpeech: number | null;
  /** How much shorter the text becomes when compressed: high for repetitions. */
  compression: number | null;
  words: unknown[];
}

/**
 * Whisper invents words in silence (`Thank you.`). A segment is dropped when its no-speech probability is above Whisper's
 * own `no_speech_threshold` and its words are less likely than not.
 */
const NO_SPEECH_ABOVE = 0.6;
const LOGPROB_BELOW = Math.log(0.5);
/** Whisper itself takes a segment beyond either for a failure. Here both must be, and only repeats are left out. */
const FAILED = { compressionAbove: 2.4, logprobBelow: -1 };
/** Whisper gives the segments of a loop the same length. People never do, so many times in a row. In seconds. */
const SAME_LENGTH = { step: 0.02, times: 8 };

/** What is left of the segments of a response. */
export interface SegmentReview {
  /** With the text that is left. */
  kept: Segment[];
  dropped: Segment[];
  /** Kept segments whose text lost repeats. */
  shortened: Segment[];
}

/** Drops what is not speech and what nobody said, and counts the words of the latter. */
export function reviewSegments(segments: readonly Segment[], engine: string): SegmentReview {
  const review: SegmentReview = { kept: [], dropped: [], shortened: [] };
  const repeats = loopedSegments(segments);
  for (const [index, segment] of segments.entries()) {
    const { text } = segment;
    if (isAnnotation(text)) review.dropped.push(segment);
    else if (isSilent(segment)) drop(segment, 'no_speech');
    else if (repeats.has(index)) drop(segment, 'repetition');
    else if (hasFailed(segment)) shorten(segment);
    else review.kept.push(segment);
  }
  return review;

  function drop(segment: Segment, reason: 'no_speech' | 'repetition'): void {
    review.dropped.push(segment);
    countDropped(engine, reason, wordCount(segment.text));
  }

  function shorten(segment: Segment): void {
    const text = withoutRepeats(segment.text);
    const lost = wordCount(segment.text) - wordCount(text);
    countDropped(engine, 'repetition', lost);
    review.kept.push({ ...segment, text });
    if (lost > 0) review.shortened.push(segment);
  }
}

/** Without the words of dropped segments. */
export function outside(words: readonly TranscriptWord[], dropped: readonly Segment[]): TranscriptWord[] {
  return words.filter((word) => !dropped.some((segment) => isWithin(word, segment)));
}

/** Without the repeats that the segments lost. */
export function withoutRepeatsIn(segments: readonly Segment[], words: readonly TranscriptWord[]): TranscriptWord[] {
  const repeats = new Set<TranscriptWord>();
  for (const segment of segments) {
    const own = words.filter((word) => isWithin(word, segment));
    for (const loop of findLoops(own.map(({ word }) => word)))
      for (const index of repeatsOf(loop)) repeats.add(own[index]!);
  }
  return words.filter((word) => !repeats.has(word));
}

/** `[BLANK_AUDIO]`, `(wind blowing)`, `♪`: descriptions of sound, not speech. */
export function isAnnotation(text: string): boolean {
  return text.replace(/\[[^[\]]*\]|\([^()]*\)|\*[^*]*\*|[♪♫\s.,-]/g, '') === '';
}

function isSilent({ logprob, noSpeech }: Segment): boolean {
  return noSpeech !== null && noSpeech > NO_SPEECH_ABOVE && logprob !== null && logprob < LOGPROB_BELOW;
}

function hasFailed({ text, logprob, compression }: Segment): boolean {
  if (logprob === null || logprob >= FAILED.logprobBelow) return false;
  return (compression ?? compressionOf(text)) > FAILED.compressionAbove;
}

/** As Whisper computes it. */
function compressionOf(text: string): number {
  const bytes = Buffer.from(text.trim());
  return bytes.length / deflateSync(bytes).length;
}

/** Indexes of segments that only repeat the one before, to the same length. */
function loopedSegments(segments: readonly Segment[]): Set<number> {
  const units = segments.map(({ text, start, end }, index) => {
    // A server that gives no times says nothing by equal ones.
    const length = end > start ? Math.round((end - start) / SAME_LENGTH.step) : `none ${index}`;
    return `${text} ${length}`;
  });
  const loops = findLoops(units).filter(({ phrase, start, end }) => phrase === 1 && end - start >= SAME_LENGTH.times);
  return new Set(loops.flatMap(repeatsOf));
}

function isWithin({ start, end }: TranscriptWord, segment: Segment): boolean {
  const middle = (start + end) / 2;
  return middle >= segment.start && middle <= segment.end;
}
