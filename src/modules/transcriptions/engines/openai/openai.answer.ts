import { languageName } from '../../../../platform/languages/languages.js';
import type { ChunkTranscript, TranscriptWord } from '../transcription-engine.js';

/** What is known of a piece before its answer comes. */
interface Asked {
  /** Lower-case English name: what was asked for, else the one that is assumed when the answer names none. */
  language: string;
  /** Length of the piece in seconds; no word ends later. */
  seconds: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** A stretch of the answer. `logprob`: mean natural logarithm of the tokens' probabilities. Times in seconds. */
interface Segment {
  text: string;
  start: number;
  end: number;
  logprob: number | null;
  noSpeech: number | null;
  words: unknown[];
}

/**
 * Whisper makes up words in silence (`Thank you.`). A segment goes when the model holds silence for likelier than
 * speech by the measure of Whisper's own `no_speech_threshold`, and gives its words less than an even chance.
 */
const NO_SPEECH_ABOVE = 0.6;
const LOGPROB_BELOW = Math.log(0.5);

/**
 * Reads an answer of `/audio/transcriptions`: `verbose_json` of any server that writes it, or one with only a text.
 * @throws TypeError when there is no text in it.
 */
export function readAnswer(answer: unknown, asked: Asked): ChunkTranscript {
  const fields = asFields(answer);
  if (typeof fields?.text !== 'string') throw new TypeError('The answer has no text');
  const segments = asList(fields.segments).flatMap((item) => readSegment(item) ?? []);
  const kept = segments.filter(isSpeech);
  const text = kept.length < segments.length ? kept.map((segment) => segment.text).join(' ') : fields.text;
  const language = (typeof fields.language === 'string' && languageName(fields.language)) || asked.language;
  const speech = isAnnotation(text) ? '' : text.replace(/\s+/g, ' ').trim();
  if (speech === '') return { text: '', confidence: null, language, words: [] };
  const words = readWords(fields, segments, asked.seconds);
  return { text: speech, confidence: confidenceOf(words, kept, fields), language, words };
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
    words: asList(fields.words),
  };
}

function isSpeech({ text, logprob, noSpeech }: Segment): boolean {
  const silent = noSpeech !== null && noSpeech > NO_SPEECH_ABOVE && logprob !== null && logprob < LOGPROB_BELOW;
  return !silent && !isAnnotation(text);
}

/** `[BLANK_AUDIO]`, `(wind blowing)`, `♪`: remarks about the sound, and nothing that was said. */
function isAnnotation(text: string): boolean {
  return text.replace(/\[[^[\]]*\]|\([^()]*\)|\*[^*]*\*|[♪♫\s.,-]/g, '') === '';
}

/** Words stand beside the segments (OpenAI), or within them (whisper.cpp); with a segment that goes, so do its words. */
function readWords(fields: Fields, segments: readonly Segment[], seconds: number): TranscriptWord[] {
  const own = asList(fields.words);
  if (own.length === 0) return segments.filter(isSpeech).flatMap(({ words }) => joinWords(words, seconds));
  const dropped = segments.filter((segment) => !isSpeech(segment));
  return joinWords(own, seconds).filter(({ start, end }) => {
    const middle = (start + end) / 2;
    return !dropped.some((segment) => middle >= segment.start && middle <= segment.end);
  });
}

/** Writing without spaces between words: there a piece without a leading space is a word of its own. */
const UNSPACED = /^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Mymr}]/u;

/**
 * whisper.cpp gives tokens for words (` That`, `'s`): where words come with their leading space, what has none goes on
 * with the word before. Tokens that hold a broken half of a character cannot be mended; then there are no words.
 */
function joinWords(items: readonly unknown[], seconds: number): TranscriptWord[] {
  const pieces = items.flatMap((item) => readPiece(item, seconds) ?? []);
  if (pieces.some(({ word }) => word.includes('\uFFFD'))) return [];
  const spaced = pieces.slice(1).some(({ word }) => word.startsWith(' '));
  const words: TranscriptWord[] = [];
  for (const piece of pieces) {
    const previous = words.at(-1);
    const word = piece.word.trim();
    if (word === '') continue;
    if (spaced && previous && !piece.word.startsWith(' ') && !UNSPACED.test(word)) {
      words[words.length - 1] = {
        word: previous.word + word,
        start: previous.start,
        end: Math.max(previous.end, piece.end),
        confidence: lower(previous.confidence, piece.confidence),
      };
    } else {
      words.push({ ...piece, word });
    }
  }
  return words;
}

function readPiece(item: unknown, seconds: number): TranscriptWord | null {
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

/** The best there is: the words' own probabilities, the segments' by their length, the tokens'; or null. */
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
