import { diffWordsWithSpace } from 'diff';

/** A piece of a text, and whether the other text has another one in its place. */
export interface Part {
  text: string;
  isChanged: boolean;
}

/** Two long texts that have little in common are compared for so long; then all between their common ends counts as changed. */
const LIMIT_MS = 500;
/** Words of every script, also of those without spaces. */
const words = new Intl.Segmenter(undefined, { granularity: 'word' });

/** The parts of both texts, by whole words. */
export function differenceOf(one: string, other: string): [Part[], Part[]] {
  const changes = diffWordsWithSpace(one, other, { intlSegmenter: words, timeout: LIMIT_MS });
  if (!changes) return [[{ text: one, isChanged: true }], [{ text: other, isChanged: true }]];
  const partsWithout = (side: 'added' | 'removed'): Part[] =>
    changes
      .filter((change) => !change[side])
      .map(({ value, added, removed }) => ({ text: value, isChanged: added || removed }));
  return [partsWithout('added'), partsWithout('removed')];
}

/** Where the caret of a text stands in another version of it. */
export function caretIn(other: string, text: string, caret: number): number {
  const shorter = Math.min(other.length, text.length);
  let [before, after] = [0, 0];
  while (before < shorter && other[before] === text[before]) before += 1;
  while (after < shorter - before && other.at(-1 - after) === text.at(-1 - after)) after += 1;
  if (caret <= before) return caret;
  if (caret >= text.length - after) return other.length - (text.length - caret);
  const [from, to] = [other.slice(before, other.length - after), text.slice(before, text.length - after)];
  const changes = diffWordsWithSpace(from, to, { intlSegmenter: words, timeout: LIMIT_MS }) ?? [];
  let [inOther, inText] = [before, before];
  for (const { value, added, removed } of changes) {
    const isPast = !removed && caret < inText + value.length;
    if (isPast) return added ? inOther : inOther + caret - inText;
    if (!removed) inText += value.length;
    if (!added) inOther += value.length;
  }
  return inOther;
}

/** Whether two texts differ in more than blanks. */
export const isSameText = (one: string, other: string): boolean => plain(one) === plain(other);

const plain = (text: string): string => text.trim().replace(/\s+/gu, ' ');
