import { HAS_UNSPACED, UNSPACED } from '../../modules/transcriptions/text/tokens.js';
import { spokenEnglish } from './spoken-english.js';

/** What happened to one unit. `said` and `heard` are indexes into the two lists, -1 where there is none. */
export interface Edit {
  said: number;
  heard: number;
  kind: 'correct' | 'substitution' | 'deletion' | 'insertion';
}

export interface ErrorCounts {
  /** What was said, in words or characters. */
  units: number;
  substitutions: number;
  deletions: number;
  insertions: number;
}

/** Cells of the table for one range. Longer lists are halved first, so that two hours of speech fit into memory. */
const MAX_CELLS = 4_000_000;
const DIAGONAL = 0;
const UP = 1;
const LEFT = 2;

/** The fewest substitutions, deletions and insertions that turn one list into the other (Levenshtein), in order. */
export function alignWords(said: readonly string[], heard: readonly string[]): Edit[] {
  const numbers = new Map<string, number>();
  const numbered = (unit: string): number => {
    const number = numbers.get(unit) ?? numbers.size;
    numbers.set(unit, number);
    return number;
  };
  const edits: Edit[] = [];
  const lists = { said: Int32Array.from(said, numbered), heard: Int32Array.from(heard, numbered) };
  align(lists, { said: 0, saidEnd: said.length, heard: 0, heardEnd: heard.length }, edits);
  return edits;
}

export function countErrors(edits: readonly Edit[]): ErrorCounts {
  const counts = { units: 0, substitutions: 0, deletions: 0, insertions: 0 };
  for (const { kind, said } of edits) {
    if (said >= 0) counts.units += 1;
    if (kind === 'substitution') counts.substitutions += 1;
    if (kind === 'deletion') counts.deletions += 1;
    if (kind === 'insertion') counts.insertions += 1;
  }
  return counts;
}

export const errorsIn = ({ substitutions, deletions, insertions }: ErrorCounts): number =>
  substitutions + deletions + insertions;

interface Lists {
  said: Int32Array;
  heard: Int32Array;
}

/** Stretches of both lists, of which the ends are not included. */
interface Range {
  said: number;
  saidEnd: number;
  heard: number;
  heardEnd: number;
}

/** Hirschberg, A linear space algorithm for computing maximal common subsequences (1975). */
function align(lists: Lists, range: Range, edits: Edit[]): void {
  const [height, width] = [range.saidEnd - range.said, range.heardEnd - range.heard];
  if (height < 2 || (height + 1) * (width + 1) <= MAX_CELLS) return alignInTable(lists, range, edits);
  const middle = range.said + (height >> 1);
  const before = lastRow(lists, { ...range, saidEnd: middle }, false);
  const after = lastRow(lists, { ...range, said: middle }, true);
  let best = { cost: Infinity, at: 0 };
  for (let at = 0; at <= width; at++) {
    const cost = (before[at] as number) + (after[width - at] as number);
    if (cost < best.cost) best = { cost, at };
  }
  const cut = range.heard + best.at;
  align(lists, { ...range, saidEnd: middle, heardEnd: cut }, edits);
  align(lists, { ...range, said: middle, heard: cut }, edits);
}

/** The least number of edits for all of `said` and each beginning of `heard`; for each end of it when backwards. */
function lastRow(lists: Lists, range: Range, backwards: boolean): Int32Array {
  const said = lists.said.slice(range.said, range.saidEnd);
  const heard = lists.heard.slice(range.heard, range.heardEnd);
  if (backwards) {
    said.reverse();
    heard.reverse();
  }
  const row = Int32Array.from({ length: heard.length + 1 }, (_, index) => index);
  for (let i = 0; i < said.length; i++) {
    const word = said[i] as number;
    let diagonal = i;
    let left = i + 1;
    row[0] = left;
    for (let j = 0; j < heard.length; j++) {
      const above = row[j + 1] as number;
      const replaced = heard[j] === word ? diagonal : diagonal + 1;
      const added = (left < above ? left : above) + 1;
      left = replaced < added ? replaced : added;
      row[j + 1] = left;
      diagonal = above;
    }
  }
  return row;
}

function alignInTable({ said, heard }: Lists, range: Range, edits: Edit[]): void {
  const [height, width] = [range.saidEnd - range.said, range.heardEnd - range.heard];
  const steps = new Uint8Array((height + 1) * (width + 1)).fill(LEFT, 0, width + 1);
  const row = Int32Array.from({ length: width + 1 }, (_, index) => index);
  for (let i = 1; i <= height; i++) {
    let diagonal = row[0] as number;
    row[0] = i;
    steps[i * (width + 1)] = UP;
    for (let j = 1; j <= width; j++) {
      const above = row[j] as number;
      const replaced = diagonal + (said[range.said + i - 1] === heard[range.heard + j - 1] ? 0 : 1);
      const left = (row[j - 1] as number) + 1;
      const up = above + 1;
      const least = Math.min(replaced, up, left);
      row[j] = least;
      steps[i * (width + 1) + j] = least === replaced ? DIAGONAL : least === up ? UP : LEFT;
      diagonal = above;
    }
  }
  edits.push(...readBack({ said, heard }, range, steps));
}

function readBack({ said, heard }: Lists, range: Range, steps: Uint8Array): Edit[] {
  const width = range.heardEnd - range.heard;
  let [i, j] = [range.saidEnd - range.said, width];
  const edits: Edit[] = [];
  while (i > 0 || j > 0) {
    const step = steps[i * (width + 1) + j];
    if (step !== LEFT) i -= 1;
    if (step !== UP) j -= 1;
    const [from, to] = [range.said + i, range.heard + j];
    if (step === UP) edits.push({ said: from, heard: -1, kind: 'deletion' });
    else if (step === LEFT) edits.push({ said: -1, heard: to, kind: 'insertion' });
    else edits.push({ said: from, heard: to, kind: said[from] === heard[to] ? 'correct' : 'substitution' });
  }
  return edits.toReversed();
}

/** What is counted: words, or characters in scripts that have no spaces between words. */
export type UnitName = 'word' | 'character';

/** Single characters of scripts without spaces, and runs of letters and digits with the apostrophes inside them. */
const UNIT = new RegExp(
  `[${UNSPACED}]\\p{M}*|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}])+(?:'(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}])+)*`,
  'gu',
);
const APOSTROPHES = /[\u2018\u2019\u02bc\u0060\u00b4]/g;
/** Marks that writers of Arabic and Hebrew may leave out, and characters that nobody sees. */
const OPTIONAL_MARKS = /[\u0591-\u05c7\u0640\u064b-\u065f\u0670\p{Cf}]/gu;

/**
 * The units of a text that are compared: lower case, compatible forms unified (NFKC), without punctuation and symbols.
 * Accents count. English numbers and a few abbreviations are written out as they are spoken.
 */
export function comparedUnits(text: string, language: string | null): string[] {
  const plain = text.normalize('NFKC').toLowerCase().replace(APOSTROPHES, "'").replace(OPTIONAL_MARKS, '');
  return (language === 'english' ? spokenEnglish(plain) : plain).match(UNIT) ?? [];
}

/** Characters where at least half of the units of the reference are single characters of a script without spaces. */
export function unitNameOf(units: readonly string[]): UnitName {
  const characters = units.filter((unit) => HAS_UNSPACED.test(unit)).length;
  return characters > 0 && characters * 2 >= units.length ? 'character' : 'word';
}
