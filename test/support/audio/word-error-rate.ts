/** Substitutions, insertions and deletions between what was said and what was heard, and how many words were said. */
export interface WordErrors {
  errors: number;
  words: number;
}

/** Compares words only: case and punctuation do not count. */
export function wordErrors(said: string, heard: string): WordErrors {
  const reference = wordsOf(said);
  const hypothesis = wordsOf(heard);
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
