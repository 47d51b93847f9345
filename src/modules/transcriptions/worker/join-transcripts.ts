import { type Calibration, calibratedConfidence } from '../engines/calibration.js';
import type { ChunkTranscript, TranscriptWord } from '../engines/transcription-engine.js';
import type { HeardLanguage } from '../../recordings/leases/recording-leases.service.js';
import { meanConfidence } from '../speech/invented-words.js';
import { timeTokens } from '../text/time-tokens.js';
import { joinTokens, tokensOf } from '../text/tokens.js';

/** The transcript of one chunk, and the chunk's position in the recording in seconds. */
export interface TranscribedChunk {
  start: number;
  seconds: number;
  transcript: ChunkTranscript;
  /** The next chunk begins with its last seconds (D89). */
  continues?: true;
}

export interface JoinedTranscript {
  text: string;
  confidence: number;
  /** The language of most of the speech; null without speech. */
  language: string | null;
  words: TranscriptWord[];
}

/**
 * Used when an engine reports no confidence, as newer hosted models do. The contract requires a number: 0 would mean "no
 * speech" and 1 certainty, so it is the middle.
 */
const UNKNOWN_CONFIDENCE = 0.5;

/** Joins the transcripts of a recording's chunks, in order. Chunks without speech do not count. */
export function joinTranscripts(chunks: readonly TranscribedChunk[]): JoinedTranscript {
  const spoken = chunks.filter(({ transcript }) => transcript.text.trim() !== '');
  const words = spoken.flatMap(({ start, transcript }) => transcript.words.map((word) => shifted(word, start)));
  // Without word times, the length of the chunk is the weight.
  const weight =
    words.length > 0
      ? (chunk: TranscribedChunk) => chunk.transcript.words.length
      : (chunk: TranscribedChunk) => chunk.seconds;
  return {
    text: spoken.map(({ transcript }) => transcript.text.trim()).join(' '),
    confidence: spoken.length === 0 ? 0 : rounded(weightedMean(spoken, confidenceOf, weight), 4),
    language: mostSpoken(spoken),
    words,
  };
}

/** The text of chunks as `joinTranscripts` joins it, one by one. */
export class TextJoiner {
  private length = 0;

  /** @returns what the chunk adds to the text, and the length of the text before it. Null for a chunk without speech. */
  add({ transcript }: TranscribedChunk): { offset: number; text: string } | null {
    const spoken = transcript.text.trim();
    if (spoken === '') return null;
    const offset = this.length;
    const text = offset === 0 ? spoken : ` ${spoken}`;
    this.length += text.length;
    return { offset, text };
  }
}

/** Rounded, which halves the length of the stored text. */
function shifted({ word, start, end, confidence, speaker }: TranscriptWord, by: number): TranscriptWord {
  const probability = confidence === null ? null : rounded(confidence, 4);
  const times = { start: rounded(start + by, 2), end: rounded(end + by, 2) };
  return { word, ...times, confidence: probability, ...(speaker !== undefined && { speaker }) };
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** 0–1, also where the engine reports none. */
export function confidenceOf({ transcript }: Pick<TranscribedChunk, 'transcript'>): number {
  if (transcript.confidence !== null) return transcript.confidence;
  const known = transcript.words.flatMap((word) => word.confidence ?? []);
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : UNKNOWN_CONFIDENCE;
}

function weightedMean<T>(items: T[], value: (item: T) => number, weight: (item: T) => number): number {
  const total = items.reduce((sum, item) => sum + weight(item), 0);
  if (total === 0) return UNKNOWN_CONFIDENCE;
  return items.reduce((sum, item) => sum + value(item) * weight(item), 0) / total;
}

function mostSpoken(chunks: TranscribedChunk[]): string | null {
  const seconds = new Map<string, number>();
  for (const { transcript, seconds: length } of chunks) {
    seconds.set(transcript.language, (seconds.get(transcript.language) ?? 0) + length);
  }
  const [most] = [...seconds].toSorted(([, a], [, b]) => b - a);
  return most?.[0] ?? null;
}

/** The languages of the chunks with speech, most of it first. */
export function heardLanguages(chunks: readonly TranscribedChunk[]): HeardLanguage[] {
  const spoken = chunks.filter(({ transcript }) => transcript.text.trim() !== '');
  const languages = [...new Set(spoken.map(({ transcript }) => transcript.language))];
  return languages
    .map((language) => {
      const own = spoken.filter(({ transcript }) => transcript.language === language);
      const seconds = own.reduce((sum, chunk) => sum + chunk.seconds, 0);
      return { language, confidence: joinTranscripts(own).confidence, seconds: rounded(seconds, 2) };
    })
    .toSorted((a, b) => b.seconds - a.seconds);
}

/** A piece of the text, with the time at which it begins. */
interface Phrase {
  start: number;
  text: string;
}

/**
 * Joins the chunks of each channel of a recording. Of several channels the words are merged by their start, and say which
 * channel they are of; the text is in the same order, with its punctuation.
 */
export function joinChannels(
  channels: readonly (readonly TranscribedChunk[])[],
  durationSeconds: number,
): JoinedTranscript {
  const { confidence, language, ...only } = joinTranscripts(channels.flat());
  if (channels.length === 1) return { ...only, confidence, language };
  const voices = channels.map((chunks) => ({ chunks, joined: joinTranscripts(chunks) }));
  const words = voices.flatMap(({ joined }, channel) => joined.words.map((word) => ({ ...word, channel })));
  const phrases = voices.flatMap(({ chunks, joined }) =>
    joined.words.length > 0 ? timedPhrases(joined, durationSeconds) : chunkPhrases(chunks),
  );
  return {
    text: inOrder(phrases)
      .map(({ text }) => text)
      .join(' '),
    confidence,
    language,
    words: inOrder(words),
  };
}

/** Single words; in a script without spaces everything up to the next space. */
function timedPhrases({ text, words }: JoinedTranscript, durationSeconds: number): Phrase[] {
  const phrases: Phrase[] = [];
  for (const token of timeTokens(tokensOf(text), words, durationSeconds)) {
    const last = phrases.at(-1);
    if (last && token.glued) last.text = joinTokens([{ ...token, text: last.text, glued: false }, token]);
    else phrases.push({ start: token.start, text: token.text });
  }
  return phrases;
}

/** For an engine that reports no words. */
const chunkPhrases = (chunks: readonly TranscribedChunk[]): Phrase[] =>
  chunks.flatMap(({ start, transcript }) => {
    const text = transcript.text.trim();
    return text === '' ? [] : { start, text };
  });

/** What begins at the same time stays in the order of the channels. */
const inOrder = <T extends { start: number }>(items: readonly T[]): T[] => items.toSorted((a, b) => a.start - b.start);

/** What an upload says about its channels. */
interface Channels {
  /** As its header says. */
  channels: number | null;
  /** Whether the upload asked for each of two on its own. */
  separateChannels?: boolean;
}

/** The channels that are transcribed one after the other; null is all of them, mixed. */
export function channelsToTranscribe({ channels, separateChannels }: Channels): (number | null)[] {
  return separateChannels && channels === 2 ? [0, 1] : [null];
}

/** For the features of a recording, which have this key only if the upload asked for it. */
export function channelFeature(recording: Channels): { channels?: number } {
  return recording.separateChannels ? { channels: channelsToTranscribe(recording).length } : {};
}

/**
 * A transcript with confidences that mean what they say: of the words with 0.9, nine in ten are correct. That of the
 * whole is the mean of its words, the share of them that is expected to be correct. Without a mapping nothing changes.
 */
export function calibrated(transcript: ChunkTranscript, calibration: Calibration | undefined): ChunkTranscript {
  if (!calibration || calibration.points.length === 0) return transcript;
  const map = (confidence: number | null): number | null =>
    confidence === null ? null : calibratedConfidence(calibration.points, confidence);
  const words = transcript.words.map((word) => ({ ...word, confidence: map(word.confidence) }));
  return { ...transcript, words, confidence: meanConfidence(words) ?? map(transcript.confidence) };
}

/**
 * Without NUL and lone surrogates, which Postgres refuses in text and in jsonb.
 * @param keeps what of an engine was asked for
 */
export function storable(transcript: ChunkTranscript, keeps = { speakers: false }): ChunkTranscript {
  return {
    ...transcript,
    text: clean(transcript.text),
    language: clean(transcript.language),
    words: transcript.words.map(({ speaker, ...word }) => ({
      ...word,
      word: clean(word.word),
      ...(keeps.speakers && speaker !== undefined && { speaker: clean(speaker) }),
    })),
  };
}

const clean = (text: string): string => text.replaceAll('\0', '').toWellFormed();
