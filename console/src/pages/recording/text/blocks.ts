import type { Stretch } from '../player/solo';
import type { TextWord } from './words';

/** A paragraph, or what one speaker or one side of a call says in one go. */
export interface Block {
  /** Null unless each channel was transcribed on its own. */
  channel: number | null;
  /** The label of its first word; null where speakers are not told apart. */
  speaker: string | null;
  /** Whether somebody else speaks, or another channel, than in the block before. */
  beginsTurn: boolean;
  /** The number of its first word in the transcript. */
  first: number;
  words: TextWord[];
  text: string;
  /** Where each word begins in the text. */
  offsets: number[];
  start: number;
}

/** A pause of this length ends a turn if somebody speaks on the other channel meanwhile. */
const TURN_PAUSE_SECONDS = 1;
const LONG_PAUSE_SECONDS = 2;
const PAUSE_SECONDS = 1;
/** Also in a text without punctuation. */
const SHORT_PAUSE_SECONDS = 0.3;
const LONG_PARAGRAPH = 800;
const LONGEST_PARAGRAPH = 1600;
/** Where a person made the paragraphs, so that one of them still fits on a few screens. */
const LONGEST_GIVEN_PARAGRAPH = 8000;

/** Of one speaker: a shorter pause is not skipped, and words end a little later than engines say. */
const STRETCH_PAUSE_SECONDS = 1;
const STRETCH_END_SECONDS = 0.2;

const SENTENCE_END = /[.!?…。．！？؟۔।॥։።။។]["'»)\]\p{Pf}\p{Pe}]*$/u;

/** Labels with the same answer are one person. */
export type PersonOf = (label: string) => string;

/**
 * The paragraphs of a transcript, by the pauses and sentences in it, and its turns where there are speakers or channels.
 * @param hasParagraphs whether a person made the paragraphs: then only line feeds end them
 */
export function blocksOf(
  words: readonly TextWord[],
  personOf: PersonOf = (label) => label,
  hasParagraphs = false,
): Block[] {
  const blocks: Block[] = [];
  let first = 0;
  for (const turn of turnsOf(words, personOf)) {
    paragraphsOf(turn, hasParagraphs).forEach((paragraph, index) => {
      blocks.push(blockOf(paragraph, first, index === 0));
      first += paragraph.length;
    });
  }
  return blocks;
}

/** Which no engine writes: a person made the paragraphs. */
export const hasEmptyLine = (text: string): boolean => /\n[^\S\n]*\n/u.test(text);

/** Whether a person made the paragraphs of a corrected text. A short one may be a single paragraph. */
export const isDivided = (text: string): boolean => hasEmptyLine(text) || text.length <= LONG_PARAGRAPH;

/** The words in the order of the blocks. */
export const wordsInOrder = (blocks: readonly Block[]): TextWord[] => blocks.flatMap(({ words }) => words);

/** Where the speakers with these labels speak, in order and without overlaps. */
export function stretchesOf(blocks: readonly Block[], labels: readonly string[]): Stretch[] {
  const isTheirs = ({ speaker }: Block) => speaker !== null && labels.includes(speaker);
  const others = blocks.filter((block) => !isTheirs(block)).map(({ start }) => start);
  const stretches: Stretch[] = [];
  for (const { start, words, beginsTurn } of blocks
    .filter(isTheirs)
    .toSorted((one, other) => one.start - other.start)) {
    const spoken = Math.max(...words.map((word) => word.end));
    const end = Math.min(spoken + STRETCH_END_SECONDS, ...others.filter((other) => other >= spoken));
    const last = stretches.at(-1);
    const pause = start - (last?.end ?? -Infinity);
    if (last && (pause <= 0 || (!beginsTurn && pause < STRETCH_PAUSE_SECONDS))) last.end = Math.max(last.end, end);
    else stretches.push({ start, end });
  }
  return stretches;
}

function blockOf(words: TextWord[], first: number, beginsTurn: boolean): Block {
  const offsets: number[] = [];
  let text = '';
  for (const word of words) {
    if (text !== '' && !word.glued) text += ' ';
    offsets.push(text.length);
    text += word.text;
  }
  const { channel, speaker, start } = words[0] as TextWord;
  const isTurn = beginsTurn && (channel !== null || speaker !== null);
  return { channel, speaker, beginsTurn: isTurn, first, words, text, offsets, start };
}

/** A turn is not cut by a word of the other side. */
function turnsOf(words: readonly TextWord[], personOf: PersonOf): TextWord[][] {
  const sideOf = ({ channel, speaker }: TextWord) => `${channel} ${speaker === null ? '' : personOf(speaker)}`;
  const turns: TextWord[][] = [];
  let last: TextWord[] | undefined;
  const latest = new Map<string, TextWord[]>();
  for (const word of words) {
    const side = sideOf(word);
    const present = latest.get(side);
    const pause = word.start - (present?.at(-1)?.end ?? -Infinity);
    if (present && (present === last || (word.channel !== null && pause < TURN_PAUSE_SECONDS))) present.push(word);
    else {
      last = [word];
      latest.set(side, last);
      turns.push(last);
    }
  }
  return turns;
}

function paragraphsOf(words: TextWord[], hasParagraphs: boolean): TextWord[][] {
  const paragraphs: TextWord[][] = [];
  let length = 0;
  for (const word of words) {
    const paragraph = paragraphs.at(-1);
    const last = paragraph?.at(-1);
    if (paragraph && last && !(hasParagraphs ? isGivenBreak(word, length) : isBreak(last, word, length))) {
      paragraph.push(word);
      length += word.text.length + 1;
    } else {
      paragraphs.push([word]);
      length = word.text.length;
    }
  }
  return paragraphs;
}

function isBreak(last: TextWord, next: TextWord, length: number): boolean {
  const pause = next.start - last.end;
  if (next.newLine || pause >= LONG_PAUSE_SECONDS || length >= LONGEST_PARAGRAPH) return true;
  if (SENTENCE_END.test(last.text)) return pause >= PAUSE_SECONDS || length >= LONG_PARAGRAPH;
  return length >= LONG_PARAGRAPH && pause >= SHORT_PAUSE_SECONDS;
}

const isGivenBreak = (next: TextWord, length: number): boolean => next.newLine || length >= LONGEST_GIVEN_PARAGRAPH;
