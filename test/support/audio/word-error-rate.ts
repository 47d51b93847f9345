/** Substitutions, insertions and deletions between the expected and the actual text, and the number of expected words. */
export interface WordErrors {
  errors: number;
  words: number;
}

/** Compares words only: case and punctuation do not count. */
export function wordErrors(expected: string, actual: string): WordErrors {
  const reference = wordsOf(expected);
  const hypothesis = wordsOf(actual);
  let row = hypothesis.map((_, i) => i + 1);
  reference.forEach((word, i) => {
    let diagonal = i;
    let left = i + 1;
    row = row.map((above, j) => {
      left = Math.min(above + 1, left + 1, diagonal + (hypothesis[j] === word ? 0 : 1));
      diagonal = above;
      return left;
    });
  });
  return { errors: row.at(-1) ?? reference.length, words: reference.length };
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
}
