import { languageName } from '../../../../platform/languages.js';
import { UNSPACED } from '../../text/tokens.js';
import type { ChunkTranscript, TranscriptWord } from '../transcription-engine.js';
import { isAnnotation, outside, reviewSegments, type Segment, withoutRepeatsIn } from './openai.segments.js';

/** The request that the response belongs to. */
interface Requested {
  /** Lower-case English name: the requested language, or the one assumed when the response names none. */
  language: string;
  /** Length of the chunk; no word ends later. */
  seconds: number;
}

/** In the metric of dropped words. */
const ENGINE = 'openai';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads the response of `/audio/transcriptions`: `verbose_json` in the variants of several servers, or text only.
 * @throws TypeError when it contains no text.
 */
export function readTranscript(response: unknown, requested: Requested): ChunkTranscript {
  const fields = asFields(response);
  if (typeof fields?.text !== 'string') throw new TypeError('The response has no text');
  const segments = asList(fields.segments).flatMap((item) => readSegment(item) ?? []);
  const { kept, dropped, shortened } = reviewSegments(segments, ENGINE);
  const isWhole = dropped.length === 0 && shortened.length === 0;
  const text = isWhole ? fields.text : kept.map((segment) => segment.text).join(' ');
  const reported = readLanguage(fields);
  const language = reported ?? requested.language;
  const speech = isAnnotation(text) ? '' : text.replace(/\s+/g, ' ').trim();
  if (speech === '') return { text: '', confidence: null, language, words: [] };
  const words = withoutRepeatsIn(shortened, readWords(fields, kept, dropped, requested.seconds));
  const confidence = confidenceOf(words, kept, fields);
  return { text: speech, confidence, language, ...(reported !== null && { languageDetected: true }), words };
}

/** `language` of `verbose_json`, or the only one of `languages`, which newer models list. */
function readLanguage({ language, languages }: Fields): string | null {
  if (typeof language === 'string') return languageName(language);
  const codes = asList(languages).flatMap((item) => asFields(item)?.code ?? []);
  return codes.length === 1 && typeof codes[0] === 'string' ? languageName(codes[0]) : null;
}

function readSegment(item: unknown): Segment | null {
  const fields = asFields(item);
  if (typeof fields?.text !== 'string') return null;
  return {
    text: fields.text,
    start: asNumber(fields.start) ?? 0,
    end: asNumber(fields.end) ?? 0,
    logprob: asNumber(fields.avg_logprob),
    noSpeech: asNumber(fields.no_speech_prob),
    compression: asNumber(fields.compression_ratio),
    words: asList(fields.words),
  };
}

/** Words are listed beside the segments (OpenAI) or inside them (whisper.cpp). Those of dropped segments are dropped. */
function readWords(
  fields: Fields,
  kept: readonly Segment[],
  dropped: readonly Segment[],
  seconds: number,
): TranscriptWord[] {
  const own = asList(fields.words);
  if (own.length === 0) return kept.flatMap(({ words }) => wordsFromTokens(words, seconds));
  return outside(wordsFromTokens(own, seconds), dropped);
}

/** Here a token without a leading space is a word of its own. */
const BEGINS_UNSPACED = new RegExp(`^[${UNSPACED}]`, 'u');

/**
 * whisper.cpp lists tokens instead of words (` That`, `'s`): if tokens have leading spaces, one without continues the word
 * before. Tokens that contain half of a character cannot be repaired; then there are no words.
 */
function wordsFromTokens(items: readonly unknown[], seconds: number): TranscriptWord[] {
  const tokens = items.flatMap((item) => readToken(item, seconds) ?? []);
  if (tokens.some(({ word }) => word.includes('\uFFFD'))) return [];
  const spaced = tokens.slice(1).some(({ word }) => word.startsWith(' '));
  const words: TranscriptWord[] = [];
  for (const token of tokens) {
    const previous = words.at(-1);
    const word = token.word.trim();
    if (word === '') continue;
    if (spaced && previous && !token.word.startsWith(' ') && !BEGINS_UNSPACED.test(word)) {
      words[words.length - 1] = {
        word: previous.word + word,
        start: previous.start,
        end: Math.max(previous.end, token.end),
        confidence: lower(previous.confidence, token.confidence),
      };
    } else {
      words.push({ ...token, word });
    }
  }
  return words;
}

function readToken(item: unknown, seconds: number): TranscriptWord | null {
  const fields = asFields(item);
  const start = asNumber(fields?.start);
  const end = asNumber(fields?.end);
  if (typeof fields?.word !== 'string' || start === null || end === null) return null;
  const from = clamp(start, 0, seconds);
  const probability = asNumber(fields.probability) ?? asNumber(fields.confidence) ?? asNumber(fields.score);
  return {
    word: fields.word,
    start: from,
    end: clamp(end, from, seconds),
    confidence: probability === null ? null : clamp(probability, 0, 1),
  };
}

/** From the words, else from the segments weighted by length, else from the tokens; null without any. */
function confidenceOf(words: readonly TranscriptWord[], segments: readonly Segment[], fields: Fields): number | null {
  const ofWords = words.flatMap(({ confidence }) => confidence ?? []);
  if (ofWords.length > 0 && ofWords.length === words.length) return mean(ofWords.map((value) => [value, 1]));
  const ofSegments = segments.flatMap(({ logprob, text }) =>
    logprob === null ? [] : [[Math.exp(Math.min(logprob, 0)), text.trim().length] as const],
  );
  if (ofSegments.length > 0) return mean(ofSegments);
  const ofTokens = asList(fields.logprobs).flatMap((token) => asNumber(asFields(token)?.logprob) ?? []);
  return ofTokens.length === 0 ? null : mean(ofTokens.map((logprob) => [Math.exp(Math.min(logprob, 0)), 1]));
}

function mean(weighted: readonly (readonly [value: number, weight: number])[]): number | null {
  const total = weighted.reduce((sum, [, weight]) => sum + weight, 0);
  if (total === 0) return null;
  return weighted.reduce((sum, [value, weight]) => sum + value * weight, 0) / total;
}

function lower(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}

function asFields(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function asNumber(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
