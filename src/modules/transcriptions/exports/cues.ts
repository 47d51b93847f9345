import { timeTokens, type TimedWord } from '../text/time-tokens.js';
import { joinTokens, tokensOf } from '../text/tokens.js';
import { markSentenceEnds, type SentenceToken } from '../text/sentences.js';
import { channelName, type ChannelWord, turnsOf } from '../text/turns.js';
import { CueLayout, MAX_LINE } from './cue-layout.js';

/** What an export is made of. */
export interface ExportSource {
  /** The words of the text, with its punctuation, are what is exported. */
  text: string;
  /** Times of its words, as an engine or a person gave them; without any the text is distributed over the duration. */
  words: readonly (TimedWord & ChannelWord)[];
  /** Length of the recording; 0 when unknown. */
  durationSeconds: number;
}

/** What is shown at one time. Whole milliseconds from the start of the recording. */
export interface Cue {
  startMs: number;
  endMs: number;
  /** One or two, each of at most 42 characters (UTF-16 units). */
  lines: string[];
  /** The same in one line. */
  text: string;
  /** On which it is spoken, if each was transcribed on its own. */
  channel?: number;
}

const MIN_CUE_MS = 1000;
const MAX_CUE_MS = 7000;

/**
 * Cuts a transcript into cues of 1 to 7 seconds and at most two lines, at pauses and, where it can be, at punctuation.
 * Cues are in order, and those of one channel do not overlap. Where words follow each other faster than cues can be shown,
 * cues come later than their words, until the next pause. A cue has what was said on one channel.
 * @param options `namesChannels`: whether the text begins with the name of its channel whenever that changes
 */
export function cuesOf({ text, words, durationSeconds }: ExportSource, { namesChannels = false } = {}): Cue[] {
  const turns = turnsOf(markSentenceEnds(timeTokens(tokensOf(text), words, durationSeconds)), words);
  const parts = timed(turns.flatMap(({ channel, tokens }) => layOut(piecesOf(tokens), channel)));
  const shown = namesChannels ? timed(parts.flatMap((part, index) => withName(part, parts[index - 1]))) : parts;
  return shown.map(({ channel, tokens, ...rest }) => {
    const cue = { ...rest, text: joinTokens(tokens) };
    return channel === undefined ? cue : { ...cue, channel };
  });
}

/** A cue without its times. */
interface CuePart {
  channel: number | undefined;
  tokens: SentenceToken[];
  lines: string[];
}

function layOut(pieces: readonly SentenceToken[], channel: number | undefined): CuePart[] {
  return Array.from(new CueLayout(pieces, MIN_CUE_MS, MAX_CUE_MS).cues(), (cue) => ({ ...cue, channel }));
}

/** The part with the name of its channel, if that is another than the one before. It may take two cues then. */
function withName(part: CuePart, before: CuePart | undefined): CuePart[] {
  const { channel, tokens } = part;
  const [first] = tokens;
  if (!first || channel === undefined || channel === before?.channel) return [part];
  const name = { ...first, text: `${channelName(channel)}:`, end: first.start, words: [], endsSentence: false };
  return layOut([name, { ...first, glued: false, newLine: false }, ...tokens.slice(1)], channel);
}

/** In the order of their start. */
function timed(parts: readonly CuePart[]): (CuePart & Pick<Cue, 'startMs' | 'endMs'>)[] {
  const freeFrom = new Map<number | undefined, number>();
  return parts
    .map(({ channel, tokens, lines }) => {
      const startMs = Math.max(tokens[0]?.start ?? 0, freeFrom.get(channel) ?? 0);
      const spokenUntil = tokens.at(-1)?.end ?? 0;
      const endMs = Math.min(Math.max(spokenUntil, startMs + MIN_CUE_MS), startMs + MAX_CUE_MS);
      freeFrom.set(channel, endMs);
      return { startMs, endMs, channel, tokens, lines };
    })
    .toSorted((a, b) => a.startMs - b.startMs);
}

/** Tokens that fit into a line, in whole milliseconds; none ends after the next one starts. */
function piecesOf(tokens: readonly SentenceToken[]): SentenceToken[] {
  const pieces = tokens.flatMap(splitLong).map((token) => {
    const [start, end] = [Math.round(token.start * 1000), Math.round(token.end * 1000)];
    return { ...token, start, end };
  });
  pieces.forEach((piece, index) => {
    piece.end = Math.min(piece.end, pieces[index + 1]?.start ?? piece.end);
  });
  return pieces;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Cuts a token that is longer than a line between its characters, and shares its time. */
function splitLong(token: SentenceToken): SentenceToken[] {
  if (token.text.length <= MAX_LINE) return [token];
  const parts: string[] = [''];
  for (const character of charactersOf(token.text)) {
    const last = parts.length - 1;
    if ((parts[last] as string).length + character.length <= MAX_LINE) parts[last] += character;
    else parts.push(character);
  }
  const seconds = (token.end - token.start) / token.text.length;
  let at = 0;
  return parts.map((text, index) => {
    const start = token.start + at * seconds;
    at += text.length;
    const end = token.start + at * seconds;
    const endsSentence = token.endsSentence && index === parts.length - 1;
    const part = { ...token, text, end, endsSentence };
    return index === 0 ? part : { ...part, start, glued: true, newLine: false };
  });
}

/** User-perceived characters; one that is longer than a line, such as a pile of accents, by its code points. */
function* charactersOf(text: string): Generator<string> {
  // In pieces, because the segmenter's time for a long text grows faster than its length.
  for (const [piece] of text.matchAll(/.{1,1000}/gsu)) {
    for (const { segment } of graphemes.segment(piece)) {
      if (segment.length <= MAX_LINE) yield segment;
      else yield* segment;
    }
  }
}
