import { isCleanText } from '../../platform/http/input/text-rules.js';
import { type TimedToken, timeTokens } from './text/time-tokens.js';
import { channelsOf, SPEAKER_LABEL, speakersOf } from './text/turns.js';
import { joinTokens, joinWords, tokensOf } from './text/tokens.js';

/** A word of a transcription: seconds from the start of the recording, and how sure the engine was of it (0–1). */
export interface TranscriptionWord {
  word: string;
  start: number;
  end: number;
  confidence: number | null;
  /** Its channel, if each was transcribed on its own. */
  channel?: number;
  /** Who says it, if that was asked for and found. */
  speaker?: string;
}

/** Two hours of fast speech have about 150,000 characters and 25,000 words. */
export const MAX_TEXT_CHARACTERS = 200_000;
export const MAX_WORDS = 50_000;
export const MAX_WORD_CHARACTERS = 200;
/** A day: longer than any recording. */
export const MAX_SECONDS = 86_400;
/** 0 is the first. */
export const MAX_CHANNEL = 1;
const FIELDS = ['word', 'start', 'end', 'confidence', 'channel', 'speaker'];

type Reading = { words: TranscriptionWord[]; problem: null } | { words: null; problem: string };

/**
 * Reads the words of a correction: a list, or the JSON text of one, as transcriptions have it.
 * @returns `problem`: what is wrong, in words that follow the field's name
 */
export function readCorrectedWords(value: unknown): Reading {
  const list = typeof value === 'string' ? parsed(value) : value;
  if (!Array.isArray(list)) return { words: null, problem: 'must be a list of words, or its JSON text' };
  if (list.length > MAX_WORDS) {
    return {
      words: null,
      problem: `must have at most ${MAX_WORDS.toLocaleString('en-US')} words; this has ${list.length}`,
    };
  }
  const words: TranscriptionWord[] = [];
  for (const item of list as unknown[]) {
    const problem = problemOf(item, words.at(-1)?.start ?? 0);
    if (problem !== null) return { words: null, problem: `has a wrong item: words[${words.length}]${problem}` };
    const { word, start, end, confidence, channel, speaker } = item as TranscriptionWord;
    // A person is sure of what they wrote.
    const read = { word, start, end, confidence: confidence === undefined ? 1 : confidence };
    words.push({ ...read, ...(channel !== undefined && { channel }), ...(speaker !== undefined && { speaker }) });
  }
  return joinWords(words.map(({ word }) => word)).length <= MAX_TEXT_CHARACTERS
    ? { words, problem: null }
    : { words: null, problem: `must have at most ${MAX_TEXT_CHARACTERS.toLocaleString('en-US')} characters in all` };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function problemOf(item: unknown, previousStart: number): string | null {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return ' must be an object';
  const { word, start, end, confidence, channel, speaker } = item as Record<string, unknown>;
  if (Object.keys(item).some((name) => !FIELDS.includes(name))) return ` must have no fields but ${FIELDS.join(', ')}`;
  if (typeof word !== 'string' || word.trim() === '' || [...word].length > MAX_WORD_CHARACTERS) {
    return `.word must be text of 1 to ${MAX_WORD_CHARACTERS} characters`;
  }
  if (!isCleanText(word)) return '.word must not contain control characters or lone surrogates';
  if (!isWithin(start, 0, MAX_SECONDS)) return `.start must be a number from 0 to ${MAX_SECONDS}`;
  if (!isWithin(end, 0, MAX_SECONDS)) return `.end must be a number from 0 to ${MAX_SECONDS}`;
  if (end < start) return '.end must not be before its start';
  if (start < previousStart) return '.start must not be before that of the word before it';
  if (channel !== undefined && (!Number.isInteger(channel) || !isWithin(channel, 0, MAX_CHANNEL))) {
    return `.channel must be an integer from 0 to ${MAX_CHANNEL}`;
  }
  if (speaker !== undefined && (typeof speaker !== 'string' || !SPEAKER_LABEL.test(speaker))) {
    return '.speaker must be a label from A to ZZ';
  }
  if (confidence === undefined || confidence === null || isWithin(confidence, 0, 1)) return null;
  return '.confidence must be a number from 0 to 1, or null';
}

const isWithin = (value: unknown, minimum: number, maximum: number): value is number =>
  typeof value === 'number' && value >= minimum && value <= maximum;

/** What a person sends, the engine's words as JSON text, and the length of the recording in seconds. */
export interface CorrectionInput {
  text: string | undefined;
  /** JSON text of a list, unless there is a text. */
  words: string | undefined;
  spokenWords: string;
  seconds: number;
}

/** The corrected text, and its words as JSON text; or what is wrong with the words, in words that follow the field's name. */
export type CorrectionResult = { text: string; words: string; problem: null } | { problem: string };

/** A function for threads: of a long recording it takes a second. */
export function makeCorrection({ text, words, spokenWords, seconds }: CorrectionInput): CorrectionResult {
  const spoken = JSON.parse(spokenWords) as TranscriptionWord[];
  if (text !== undefined) return resultOf(timeCorrectedText(text, spoken, seconds), text);
  const read = readCorrectedWords(words);
  const problem = read.problem ?? problemOfTimes(read.words, spoken, seconds);
  return problem === null ? resultOf(read.words ?? []) : { problem };
}

function resultOf(words: TranscriptionWord[], text = joinWords(words.map(({ word }) => word))): CorrectionResult {
  return { text, words: JSON.stringify(words), problem: null };
}

/** Engines place the last words up to a second late; a client may send back whatever it was given. */
const LATE_SECONDS = 1;

function problemOfTimes(
  words: readonly TranscriptionWord[],
  spoken: readonly TranscriptionWord[],
  seconds: number,
): string | null {
  const last = spoken.reduce((latest, { end }) => Math.max(latest, end), seconds);
  const beyond = words.findIndex(({ end }) => end > last + LATE_SECONDS);
  if (beyond === -1) return null;
  return `has a wrong item: words[${beyond}].end must not be after the end of the recording, at ${seconds} s`;
}

/**
 * Words for a corrected text: those that a person left as they were keep their time and confidence, the others get
 * interpolated times and the confidence 1. None if the engine reported none: then there are no times to go by.
 */
export function timeCorrectedText(
  text: string,
  original: readonly TranscriptionWord[],
  durationSeconds: number,
): TranscriptionWord[] {
  if (original.length === 0) return [];
  const tokens = joinNeighbours(timeTokens(tokensOf(text), original, durationSeconds));
  const channels = channelsOf(tokens, original);
  const speakers = speakersOf(tokens, original);
  return tokens.map(({ text: word, start, end, words }, index) => {
    const [channel, speaker] = [channels[index], speakers[index]];
    return {
      word,
      start: rounded(start, 3),
      end: rounded(end, 3),
      confidence: confidenceOf(words.map((at) => original[at]?.confidence ?? null)),
      ...(channel !== undefined && { channel }),
      ...(speaker !== undefined && { speaker }),
    };
  });
}

/** Of a text with more words than a list may have, neighbours share an item: what a client is given it can send back. */
function joinNeighbours(tokens: TimedToken[]): TimedToken[] {
  if (tokens.length <= MAX_WORDS) return tokens;
  const size = Math.ceil(tokens.length / MAX_WORDS);
  return Array.from({ length: Math.ceil(tokens.length / size) }, (_, index) => {
    const group = tokens.slice(index * size, (index + 1) * size);
    const [first, last] = [group[0] as TimedToken, group.at(-1) as TimedToken];
    const words = group.every((token) => token.words.length > 0) ? group.flatMap((token) => token.words) : [];
    return { ...first, text: joinTokens(group), end: last.end, words };
  });
}

/** The mean of the words that a word is made of; null if the engine did not say. */
function confidenceOf(kept: (number | null)[]): number | null {
  if (kept.length === 0) return 1;
  const known = kept.filter((confidence) => confidence !== null);
  if (known.length < kept.length) return null;
  return rounded(known.reduce((sum, confidence) => sum + confidence, 0) / known.length, 4);
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
