import type { Readable } from 'node:stream';
import type { SpeakerSegment } from '../../speakers/speaker-diarizer.js';
import type { AudioChunk, ChunkTranscript, TranscribeOptions, TranscriptWord } from '../transcription-engine.js';

/**
 * What a child sends, each as one line of JSON: first that it is ready or why it cannot be, then one answer for each
 * request. A child has read strangers' audio, so nothing that it writes is trusted.
 */
export type ChildMessage = { ready: true } | { problem: string } | ChildAnswer;

/** What a child has heard in the audio of a request. */
export type ChildAnswer = { transcript: ChunkTranscript } | { speakers: HeardSpeakers };

export interface HeardSpeakers {
  segments: SpeakerSegment[];
  /** The most that the child ever had in memory. */
  residentBytes: number;
}

/** Where the child writes its messages. Standard output would mix them with what its libraries print. */
export const MESSAGE_DESCRIPTOR = 3;
/**
 * What the child reads from its standard input for each request: the length of the options, the length of the audio, both
 * as 32 bits, little-endian, then the options as JSON, then the audio.
 */
export const LENGTH_BYTES = 4;
export const HEADER_BYTES = 2 * LENGTH_BYTES;

/** What a recogniser is told about a chunk. */
export type ChunkOptions = Partial<Omit<TranscribeOptions, 'signal'> & Pick<AudioChunk, 'speech'>> & {
  /** The chunk is the next part of an utterance: what is answered is the transcript of all of it so far. */
  live?: LivePart;
};

export interface LivePart {
  /** Somebody else speaks now. */
  isNew: boolean;
  /** The utterance ends with it. */
  ends: boolean;
}

/** Typical: 6 kB for a chunk of 15 s, 150 kB for the speakers of two hours. */
const MAX_LINE_BYTES = 256 * 1024;
const MAX_PROBLEM_LENGTH = 2_000;
const MAX_WORDS = 4_096;
const MAX_SPEAKER = 1_000;
const NEWLINE = 0x0a;

/** A child broke the rules for messages. */
class ChildMessageError extends Error {
  override readonly name = 'ChildMessageError';
}

interface Receiver {
  message: (message: ChildMessage) => void;
  /** Called once; nothing is read after it. */
  broken: (error: ChildMessageError) => void;
}

/** Reads messages until the stream ends or breaks the rules. Keeps at most one line in memory. */
export function receiveMessages(
  stream: Readable,
  { message, broken }: Receiver,
  maxLineBytes: number = MAX_LINE_BYTES,
): void {
  let line: Buffer[] = [];
  let length = 0;
  const take = (part: Buffer): void => {
    length += part.length;
    if (length > maxLineBytes) throw new ChildMessageError(`a message is longer than ${maxLineBytes} bytes`);
    line.push(part);
  };
  const read = (data: Buffer): void => {
    let start = 0;
    try {
      for (let end = data.indexOf(NEWLINE); end >= 0; end = data.indexOf(NEWLINE, start)) {
        take(data.subarray(start, end));
        const complete = Buffer.concat(line);
        [line, length, start] = [[], 0, end + 1];
        message(parseMessage(complete.toString('utf8')));
      }
      take(data.subarray(start));
    } catch (error) {
      stream.off('data', read).resume();
      broken(error as ChildMessageError);
    }
  };
  stream.on('data', read);
}

/** The line of a message, without its end. Segments are lists of start, end and speaker: there may be thousands. */
export function lineOf(message: ChildMessage): string {
  if (!('speakers' in message)) return JSON.stringify(message);
  const segments = message.speakers.segments.map(({ start, end, speaker }) => [start, end, speaker]);
  return JSON.stringify({ speakers: { ...message.speakers, segments } });
}

/** @throws ChildMessageError */
function parseMessage(line: string): ChildMessage {
  const message = objectOf(parseJson(line), 'a message');
  if (message.ready === true) return { ready: true };
  if ('problem' in message) return { problem: textOf(message.problem, 'problem').slice(0, MAX_PROBLEM_LENGTH) };
  if ('transcript' in message) return { transcript: transcriptOf(objectOf(message.transcript, 'transcript')) };
  if ('speakers' in message) return { speakers: speakersOf(objectOf(message.speakers, 'speakers')) };
  throw new ChildMessageError('a message is of no known kind');
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new ChildMessageError('a message is not JSON');
  }
}

function transcriptOf({
  text,
  confidence,
  language,
  languageDetected,
  words,
}: Record<string, unknown>): ChunkTranscript {
  if (!Array.isArray(words) || words.length > MAX_WORDS) {
    throw new ChildMessageError(`words must be a list of at most ${MAX_WORDS}`);
  }
  return {
    text: textOf(text, 'text'),
    confidence: confidenceOf(confidence),
    language: textOf(language, 'language'),
    ...(languageDetected === true && { languageDetected }),
    words: words.map((word) => wordOf(objectOf(word, 'a word'))),
  };
}

function wordOf({ word, start, end, confidence }: Record<string, unknown>): TranscriptWord {
  return {
    word: textOf(word, 'word'),
    start: secondsOf(start, 'start'),
    end: secondsOf(end, 'end'),
    confidence: confidenceOf(confidence),
  };
}

function speakersOf({ segments, residentBytes }: Record<string, unknown>): HeardSpeakers {
  if (!Array.isArray(segments)) throw new ChildMessageError('segments must be a list');
  return { segments: segments.map((segment) => segmentOf(segment)), residentBytes: countOf(residentBytes, Infinity) };
}

function segmentOf(segment: unknown): SpeakerSegment {
  if (!Array.isArray(segment)) throw new ChildMessageError('a segment must be a list');
  const [start, end, speaker] = segment as unknown[];
  return { start: secondsOf(start, 'start'), end: secondsOf(end, 'end'), speaker: countOf(speaker, MAX_SPEAKER) };
}

function countOf(value: unknown, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most) return value;
  throw new ChildMessageError('a count must be a whole number');
}

function objectOf(value: unknown, name: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new ChildMessageError(`${name} must be an object`);
}

function textOf(value: unknown, name: string): string {
  if (typeof value === 'string') return value;
  throw new ChildMessageError(`${name} must be text`);
}

function secondsOf(value: unknown, name: string): number {
  if (typeof value === 'number' && value >= 0 && value < Infinity) return value;
  throw new ChildMessageError(`${name} must be a number of seconds`);
}

function confidenceOf(value: unknown): number | null {
  if (value === null || (typeof value === 'number' && value >= 0 && value <= 1)) return value;
  throw new ChildMessageError('confidence must be null or a number from 0 to 1');
}
