import { deflateSync } from 'node:zlib';
import type { VoicedWord } from '../text/turns.js';
import type { TimedWord } from '../text/time-tokens.js';
import { type Cue, cuesOf } from './cues.js';

/** A transcript, and what of it is wanted. */
export interface VerboseInput {
  /** `translate`: the text is in English, whatever was spoken. */
  task: 'transcribe' | 'translate';
  text: string;
  /** JSON text of the list. */
  words: string;
  /** Lower-case English name. */
  language: string;
  durationSeconds: number;
  /** Of the recording, 0 to 1. */
  confidence: number;
  withSegments: boolean;
  withWords: boolean;
  /** What the recording costs, as it is sent. */
  usage: object;
}

/** A transcript of which the certainty is wanted. */
export type LogprobsInput = Pick<VerboseInput, 'text' | 'words' | 'confidence'>;

type SpokenWord = TimedWord & VoicedWord & { confidence: number | null };

/**
 * `verbose_json` as JSON text: words and segments as requested, neither of them ever null. A function for
 * threads: of a long recording it takes a second.
 */
export function verboseJsonOf({ withSegments, withWords, ...transcript }: VerboseInput): string {
  const { task, language, durationSeconds: duration, text, usage } = transcript;
  const words = JSON.parse(transcript.words) as SpokenWord[];
  const confidenceOf = confidences(words, transcript.confidence);
  const segments = withSegments ? cuesOf({ text, words, durationSeconds: duration }) : [];
  return JSON.stringify({
    task,
    language,
    duration,
    text,
    ...(withSegments ? { segments: segments.map((cue, id) => segmentOf(cue, id, confidenceOf)) } : {}),
    ...(withWords ? { words: words.map(({ word, start, end }) => ({ word, start, end })) } : {}),
    usage,
  });
}

/** With all keys that OpenAI has. Whisper's own figures, which no other engine knows, have the values of certainty. */
function segmentOf({ startMs, endMs, text }: Cue, id: number, confidenceOf: Confidence): object {
  const [start, end] = [startMs / 1000, endMs / 1000];
  return {
    id,
    seek: 0,
    start,
    end,
    // As Whisper writes it, so that segments can be joined.
    text: ` ${text}`,
    tokens: [],
    temperature: 0,
    avg_logprob: logProbability(confidenceOf(start, end)),
    compression_ratio: compressionRatio(text),
    no_speech_prob: 0,
  };
}

/** Mean confidence of the words whose middle lies in that time, in seconds. */
type Confidence = (start: number, end: number) => number;

/** Sorts once for all segments: a transcript may have 43,000 words. The recording's where the engine gives none. */
function confidences(words: readonly SpokenWord[], confidence: number): Confidence {
  const known = words
    .flatMap(({ start, end, confidence: value }) => (value === null ? [] : { middle: (start + end) / 2, value }))
    .toSorted((one, other) => one.middle - other.middle);
  const sums = [0];
  for (const { value } of known) sums.push((sums.at(-1) ?? 0) + value);
  /** How many words lie before the time. */
  const countWhere = (isBefore: (middle: number) => boolean): number => {
    let [low, high] = [0, known.length];
    while (low < high) {
      const index = (low + high) >> 1;
      if (isBefore(known[index]?.middle ?? 0)) low = index + 1;
      else high = index;
    }
    return low;
  };
  return (start, end) => {
    const [from, to] = [countWhere((middle) => middle < start), countWhere((middle) => middle <= end)];
    return to > from ? ((sums[to] ?? 0) - (sums[from] ?? 0)) / (to - from) : confidence;
  };
}

/**
 * What OpenAI calls `logprobs`, as JSON text: one for each word, because engines report no smaller parts. Joined, the
 * tokens are the words with a space between two. A function for threads, as above.
 */
export function logprobsOf({ words, confidence }: LogprobsInput): string {
  const tokens = (JSON.parse(words) as SpokenWord[]).map(({ word, confidence: own }, index) => {
    const token = index === 0 ? word : ` ${word}`;
    return { token, logprob: logProbability(own ?? confidence), bytes: [...Buffer.from(token)] };
  });
  return JSON.stringify(tokens);
}

/** JSON has no -∞. */
const LEAST_PROBABILITY = 1e-4;

const logProbability = (probability: number): number =>
  rounded(Math.log(Math.min(1, Math.max(probability, LEAST_PROBABILITY))));

/** As Whisper computes it: high for a text that repeats itself. */
function compressionRatio(text: string): number {
  const bytes = Buffer.from(text);
  return rounded(bytes.length / deflateSync(bytes).length);
}

const rounded = (value: number): number => Number(value.toFixed(4));
