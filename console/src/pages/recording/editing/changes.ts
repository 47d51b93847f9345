/** Two texts in three parts each: what both begin with, where they differ, and what both end with. */
export interface Difference {
  before: string;
  changed: [string, string];
  after: string;
}

/** Compares by whole words. */
export function differenceOf(one: string, other: string): Difference {
  const [a, b] = [one.split(/(?<=\s)/u), other.split(/(?<=\s)/u)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  return {
    before: a.slice(0, start).join(''),
    changed: [a.slice(start, a.length - end).join(''), b.slice(start, b.length - end).join('')],
    after: a.slice(a.length - end).join(''),
  };
}

/** Whether two texts differ in more than blanks. */
export const isSameText = (one: string, other: string): boolean => plain(one) === plain(other);

const plain = (text: string): string => text.trim().replace(/\s+/gu, ' ');
