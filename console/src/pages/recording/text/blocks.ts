import type { TextWord } from './words';

/** A paragraph, or what one side of a call says in one go. */
export interface Block {
  /** Null unless each channel was transcribed on its own. */
  channel: number | null;
  /** Whether the channel is another one than that of the block before. */
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

const SENTENCE_END = /[.!?…。．！？؟۔।॥։።။។]["'»)\]\p{Pf}\p{Pe}]*$/u;

/** The paragraphs of a transcript, by the pauses and sentences in it, and its turns where there are channels. */
export function blocksOf(words: readonly TextWord[]): Block[] {
  const blocks: Block[] = [];
  let first = 0;
  for (const turn of turnsOf(words)) {
    paragraphsOf(turn).forEach((paragraph, index) => {
      blocks.push(blockOf(paragraph, first, index === 0));
      first += paragraph.length;
    });
  }
  return blocks;
}

/** The words in the order of the blocks. */
export const wordsInOrder = (blocks: readonly Block[]): TextWord[] => blocks.flatMap(({ words }) => words);

function blockOf(words: TextWord[], first: number, beginsTurn: boolean): Block {
  const offsets: number[] = [];
  let text = '';
  for (const word of words) {
    if (text !== '' && !word.glued) text += ' ';
    offsets.push(text.length);
    text += word.text;
  }
  const { channel, start } = words[0] as TextWord;
  return { channel, beginsTurn: beginsTurn && channel !== null, first, words, text, offsets, start };
}

/** A turn is not cut by a word of the other side. */
function turnsOf(words: readonly TextWord[]): TextWord[][] {
  const turns: TextWord[][] = [];
  for (const word of words) {
    const present = turns.findLast((turn) => turn[0]?.channel === word.channel);
    const pause = word.start - (present?.at(-1)?.end ?? -Infinity);
    if (present && (present === turns.at(-1) || pause < TURN_PAUSE_SECONDS)) present.push(word);
    else turns.push([word]);
  }
  return turns;
}

function paragraphsOf(words: TextWord[]): TextWord[][] {
  const paragraphs: TextWord[][] = [];
  let length = 0;
  for (const word of words) {
    const paragraph = paragraphs.at(-1);
    const last = paragraph?.at(-1);
    if (paragraph && last && !isBreak(last, word, length)) {
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
