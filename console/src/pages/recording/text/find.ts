import type { Block } from './blocks';

/** The words, by their numbers in the transcript, that a match touches. */
export interface Hit {
  block: number;
  from: number;
  to: number;
  /** Not a part of a longer word. */
  isWhole: boolean;
}

/** A text without case and accents, and where each of its characters stands in the original. */
interface Folded {
  text: string;
  /** Null where both are as long. */
  at: number[] | null;
}

/** Finds text in a transcript, whatever its case and accents. A match lies within one paragraph. */
export class Finder {
  private folded: Folded[] | null = null;

  constructor(private readonly blocks: readonly Block[]) {}

  find(query: string): Hit[] {
    const wanted = fold(query.trim().replace(/\s+/g, ' ')).text;
    if (wanted === '') return [];
    this.folded ??= this.blocks.map(({ text }) => fold(text));
    return this.folded.flatMap((folded, block) => hitsIn(this.blocks[block] as Block, block, folded, wanted));
  }
}

function hitsIn(block: Block, index: number, { text, at }: Folded, wanted: string): Hit[] {
  const hits: Hit[] = [];
  for (let found = text.indexOf(wanted); found >= 0; found = text.indexOf(wanted, found + wanted.length)) {
    const last = found + wanted.length - 1;
    const [start, end] = [at?.[found] ?? found, at?.[last] ?? last];
    hits.push({
      block: index,
      from: block.first + wordAt(block.offsets, start),
      to: block.first + wordAt(block.offsets, end),
      isWhole: !LETTER.test(text[found - 1] ?? '') && !LETTER.test(text[last + 1] ?? ''),
    });
  }
  return hits;
}

const LETTER = /[\p{L}\p{N}]/u;

/** The last word that begins at or before the character. */
function wordAt(offsets: readonly number[], character: number): number {
  return lastAtMost(offsets, character);
}

/** The index of the last of rising numbers that is not greater; 0 if all are. */
export function lastAtMost(rising: ArrayLike<number>, value: number): number {
  let [low, high] = [0, rising.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((rising[middle] as number) <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

// oxlint-disable-next-line no-control-regex -- all of ASCII
const ASCII = /^[\0-\x7f]*$/;

function fold(text: string): Folded {
  if (ASCII.test(text)) return { text: text.toLowerCase(), at: null };
  const at: number[] = [];
  let folded = '';
  for (let index = 0; index < text.length; index += 1) {
    const plain = (text[index] as string).normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
    folded += plain;
    for (let n = 0; n < plain.length; n += 1) at.push(index);
  }
  return { text: folded, at };
}
