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
