import { deflateSync } from 'node:zlib';
import type { Granularity } from '../transcription-form.js';

/** A transcription with its words and the length of the recording. */
export interface TimedTranscript {
  text: string;
  /** Lower-case English name. */
  language: string;
  durationSeconds: number;
  confidence: number;
  words: readonly TimedWord[];
}

interface TimedWord {
  word: string;
  start: number;
  end: number;
  confidence: number | null;
}

/** A passage of the text and its times, in milliseconds. */
export interface Passage {
  startMs: number;
  endMs: number;
  text: string;
}

/** How OpenAI bills audio, which some clients read. */
export const usageOf = ({ durationSeconds }: TimedTranscript): object => ({
  type: 'duration',
  seconds: Math.ceil(durationSeconds),
});

export const jsonOf = (transcript: TimedTranscript): object => ({ text: transcript.text, usage: usageOf(transcript) });

/** `verbose_json`: words and segments as requested; segments by default. Neither is ever null. */
export function verboseJsonOf(
  transcript: TimedTranscript,
  passages: readonly Passage[],
  granularities: readonly Granularity[],
): object {
  const { language, durationSeconds: duration, text } = transcript;
  const withWords = granularities.includes('word');
  const withSegments = !withWords || granularities.includes('segment');
  const confidenceOf = confidences(transcript);
  return {
    task: 'transcribe',
    language,
    duration,
    text,
    ...(withSegments ? { segments: passages.map((passage, id) => segmentOf(passage, id, confidenceOf)) } : {}),
    ...(withWords ? { words: transcript.words.map(({ word, start, end }) => ({ word, start, end })) } : {}),
    usage: usageOf(transcript),
  };
}

/** With all keys that OpenAI has. Whisper's own figures, which no other engine knows, have the values of certainty. */
function segmentOf({ startMs, endMs, text }: Passage, id: number, confidenceOf: Confidence): object {
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
function confidences({ words, confidence }: TimedTranscript): Confidence {
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
