import { tokensOf } from '../../text/tokens.js';
import { SAMPLES_PER_SECOND } from '../../audio/pcm.js';
import type { SpeechSection, TranscriptWord } from '../transcription-engine.js';

/** A word that no other follows lasts at most so long after its last token began. Typical: 0.1 to 0.4 s. */
const MAX_TOKEN_SECONDS = 0.4;
const MIN_WORD_SECONDS = 0.02;
const ROUNDING = 1e-6;
/** Characters that tokens without readable text may have stood for before one that is found again. */
const MAX_SKIPPED = 24;

/** A word's place among the characters of the text that are no blanks. */
interface Span {
  word: string;
  from: number;
  to: number;
}

/** A token and the first character that it wrote. */
interface Mark {
  position: number;
  start: number;
  end: number | null;
  logProbability: number | null;
}

/**
 * The words of a text with their times and probabilities. Tokens may be parts of words, of characters even, so that the
 * text says which words there are and the tokens only when they were said.
 * @param speech where somebody speaks, in order: at least one section
 */
export function wordsOf(result: SherpaResult, speech: readonly SpeechSection[]): TranscriptWord[] {
  const spans = spansOf(result.text);
  const hasTimes = result.tokens.length > 0 && result.timestamps.length === result.tokens.length;
  return hasTimes ? fromMarks(spans, marksOf(result), speech.at(-1)?.end ?? 0) : spread(spans, partsOf(result, speech));
}

function spansOf(text: string): Span[] {
  let position = 0;
  return tokensOf(text).map(({ text: word }) => {
    const from = position;
    position += compact(word).length;
    return { word, from, to: position };
  });
}

/** Walks through the text and the tokens together. Upper and lower case are the same here. */
function marksOf({ text, tokens, timestamps, durations, ys_log_probs: probabilities }: SherpaResult): Mark[] {
  const letters = compact(text).toLowerCase();
  const marks: Mark[] = [];
  let position = 0;
  tokens.forEach((token, index) => {
    const part = readable(token);
    const found = part === '' ? -1 : letters.indexOf(part, position);
    const isFound = found >= 0 && found - position <= MAX_SKIPPED;
    const start = timestamps[index] ?? 0;
    const duration = durations[index] ?? 0;
    marks.push({
      position: isFound ? found : position,
      start,
      end: duration > 0 ? start + duration : null,
      logProbability: probabilities[index] ?? null,
    });
    if (isFound) position = found + part.length;
  });
  return marks;
}

/** The part of the text that a token wrote; empty for a part of a character, which some libraries write as `<0xE2>`. */
function readable(token: string): string {
  if (/^<0x[0-9a-f]{2}>$/i.test(token) || token.includes('\ufffd')) return '';
  return compact(token.replaceAll('▁', ' ').replace(/@@$/, '')).toLowerCase();
}

function fromMarks(spans: readonly Span[], marks: readonly Mark[], speechEnd: number): TranscriptWord[] {
  let next = 0;
  let before = 0;
  return spans.map(({ word, from, to }, index) => {
    const own: Mark[] = [];
    const limit = index === spans.length - 1 ? Infinity : to;
    for (let mark = marks[next]; mark && mark.position < limit; mark = marks[++next]) own.push(mark);
    const start = Math.max(before, own[0]?.start ?? before);
    const last = own.at(-1);
    const following = marks[next]?.start ?? Math.max(speechEnd, (last?.start ?? start) + MIN_WORD_SECONDS);
    const latest = last ? (last.end ?? last.start + MAX_TOKEN_SECONDS) : following;
    const end = Math.max(start + MIN_WORD_SECONDS, Math.min(following, latest));
    before = start;
    return { word, start, end, confidence: from === to ? null : confidenceOf(own) };
  });
}

/** The geometric mean of its tokens' probabilities; null when the model gives none. */
function confidenceOf(marks: readonly Mark[]): number | null {
  const known = marks.flatMap(({ logProbability }) => logProbability ?? []);
  if (known.length === 0) return null;
  return Math.min(1, Math.exp(known.reduce((sum, value) => sum + value, 0) / known.length));
}

/** Letters of the text, and where they were said. */
interface Part {
  letters: number;
  sections: readonly SpeechSection[];
}

/** The segments of the text, if the model reports their times. */
function partsOf(result: SherpaResult, speech: readonly SpeechSection[]): Part[] {
  const { segment_texts: texts = [], segment_timestamps: starts = [], segment_durations: durations = [] } = result;
  const parts = texts.map((text, index) => {
    const start = starts[index] ?? 0;
    return { letters: compact(text).length, sections: within({ start, end: start + (durations[index] ?? 0) }, speech) };
  });
  const letters = parts.reduce((sum, part) => sum + part.letters, 0);
  const all = compact(result.text).length;
  return letters === all && all > 0 ? parts : [{ letters: all, sections: speech }];
}

/** The speech in a segment; the whole segment if nothing else is known. */
function within(segment: SpeechSection, speech: readonly SpeechSection[]): SpeechSection[] {
  const sections = speech
    .map(({ start, end }) => ({ start: Math.max(start, segment.start), end: Math.min(end, segment.end) }))
    .filter(({ start, end }) => end > start);
  return sections.length > 0 ? sections : [segment];
}

/** By the lengths of the words. */
function spread(spans: readonly Span[], parts: readonly Part[]): TranscriptWord[] {
  let before = 0;
  return spans.map(({ word, from, to }) => {
    const start = Math.max(before, timeOf(from, parts, false));
    before = start;
    return { word, start, end: Math.max(start + MIN_WORD_SECONDS, timeOf(to, parts, true)), confidence: null };
  });
}

/** When the letters before this one had been said. Between two sections of speech, that is the end of one or the start of the next. */
function timeOf(letter: number, parts: readonly Part[], isEnd: boolean): number {
  let first = 0;
  for (const [index, { letters, sections }] of parts.entries()) {
    const isInside = isEnd ? letter <= first + letters : letter < first + letters;
    if (isInside || index === parts.length - 1) return along(sections, (letter - first) / Math.max(1, letters), isEnd);
    first += letters;
  }
  return 0;
}

function along(sections: readonly SpeechSection[], share: number, isEnd: boolean): number {
  let seconds = share * sections.reduce((sum, { start, end }) => sum + end - start, 0);
  for (const { start, end } of sections) {
    const length = end - start;
    if (isEnd ? seconds <= length + ROUNDING : seconds < length - ROUNDING) return start + Math.max(0, seconds);
    seconds -= length;
  }
  return sections.at(-1)?.end ?? 0;
}

function compact(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, '');
}

/** What sherpa-onnx returns for a chunk. Lists that a model does not fill are empty. */
export interface SherpaResult {
  text: string;
  /** `en`, `<|en|>` or empty. */
  lang: string;
  tokens: string[];
  /** Seconds; one for each token. */
  timestamps: number[];
  durations: number[];
  /** Natural logarithms; one for each token. */
  ys_log_probs: number[];
  segment_timestamps?: number[];
  segment_durations?: number[];
  segment_texts?: string[];
}

/** Characters in the text and its tokens that the library does not escape. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f]/g;

/**
 * Reads a result, which is almost JSON. Streaming models call the logarithms `ys_probs`.
 * @throws SyntaxError
 */
export function readResult(json: string): SherpaResult {
  const result = JSON.parse(json.replace(CONTROL, ' ')) as Partial<SherpaResult> & { ys_probs?: number[] };
  return {
    text: result.text ?? '',
    lang: result.lang ?? '',
    tokens: result.tokens ?? [],
    timestamps: result.timestamps ?? [],
    durations: result.durations ?? [],
    ys_log_probs: result.ys_log_probs ?? result.ys_probs ?? [],
    segment_timestamps: result.segment_timestamps,
    segment_durations: result.segment_durations,
    segment_texts: result.segment_texts,
  };
}

const FRAME_SAMPLES = 320;
/** Share of the loudest frame: 26 dB below it. */
const RELATIVE = 0.05;
/** −60 dB of full scale: less is no speech. */
const FLOOR = 0.001;

/** From the first to the last sound in a chunk: where its words are when the recogniser gives no times. */
export function speechBounds(samples: Float32Array): SpeechSection {
  const levels: number[] = [];
  for (let start = 0; start < samples.length; start += FRAME_SAMPLES) {
    const frame = samples.subarray(start, start + FRAME_SAMPLES);
    levels.push(Math.sqrt(frame.reduce((sum, sample) => sum + sample * sample, 0) / frame.length));
  }
  const threshold = Math.max(FLOOR, RELATIVE * levels.reduce((max, level) => Math.max(max, level), 0));
  const first = levels.findIndex((level) => level >= threshold);
  const last = levels.findLastIndex((level) => level >= threshold);
  const seconds = samples.length / SAMPLES_PER_SECOND;
  const at = (frame: number): number => Math.min(seconds, (frame * FRAME_SAMPLES) / SAMPLES_PER_SECOND);
  return first < 0 ? { start: 0, end: seconds } : { start: at(first), end: at(last + 1) };
}
