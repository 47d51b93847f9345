import { deflateSync } from 'node:zlib';
import type { Granularity } from '../transcription-form.js';

/** A transcription as this module reads it. */
export interface HeardNote {
  text: string;
  /** Lower-case English name. */
  language: string;
  durationSeconds: number;
  confidence: number;
  words: readonly HeardWord[];
}

interface HeardWord {
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
export const usageOf = ({ durationSeconds }: HeardNote): object => ({
  type: 'duration',
  seconds: Math.ceil(durationSeconds),
});

export const jsonOf = (note: HeardNote): object => ({ text: note.text, usage: usageOf(note) });

/** `verbose_json`: words and segments as asked for; segments when nothing is. Neither is ever null. */
export function verboseJsonOf(
  note: HeardNote,
  passages: readonly Passage[],
  granularities: readonly Granularity[],
): object {
  const { language, durationSeconds: duration, text } = note;
  const withWords = granularities.includes('word');
  const withSegments = !withWords || granularities.includes('segment');
  return {
    task: 'transcribe',
    language,
    duration,
    text,
    ...(withSegments ? { segments: passages.map((passage, id) => segmentOf(passage, id, note)) } : {}),
    ...(withWords ? { words: note.words.map(({ word, start, end }) => ({ word, start, end })) } : {}),
    usage: usageOf(note),
  };
}

/** With all keys that OpenAI has. Whisper's own figures, which no other engine knows, have the values of certainty. */
function segmentOf({ startMs, endMs, text }: Passage, id: number, note: HeardNote): object {
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
    avg_logprob: logProbability(confidenceIn(note, start, end)),
    compression_ratio: compressionRatio(text),
    no_speech_prob: 0,
  };
}

/** Of the words that are spoken in that time; of the whole note where the engine tells none. */
function confidenceIn({ words, confidence }: HeardNote, start: number, end: number): number {
  const known = words
    .filter((word) => (word.start + word.end) / 2 >= start && (word.start + word.end) / 2 <= end)
    .flatMap((word) => word.confidence ?? []);
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : confidence;
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
