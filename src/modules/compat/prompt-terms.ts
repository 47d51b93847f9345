import { trimmedEnd } from '../../platform/http/input/text-rules.js';
import { checkVocabulary, MAX_TERM_LENGTH, MAX_TERMS } from '../../platform/vocabulary.js';

/** A longer piece between two separators is a sentence. */
const MAX_WORDS = 4;
const SENTENCE_END = /[.!?。！？]/u;

/**
 * The terms of a `prompt`, which OpenAI takes as free text. Clients mostly send lists of names, separated by commas or
 * lines: each item is a term. Of a sentence, the names are: words with a capital or a digit, but for its first word.
 */
export function promptTerms(prompt: string): string[] {
  const pieces = prompt.toWellFormed().split(/[,;，、；\n\r]|(?<=[.!?。！？])\s/u);
  const terms = pieces
    .map((piece) => plain(trimmedEnd(piece, SENTENCE_END)))
    .flatMap((piece) => (isTerm(piece) ? piece : namesIn(piece)));
  const usable = terms.filter((term) => checkVocabulary([term]).ok).slice(0, MAX_TERMS);
  const checked = checkVocabulary(usable);
  return checked.ok ? checked.terms : [];
}

/** Without control characters, labels such as `Glossary:`, and marks around it. */
const plain = (piece: string): string =>
  trimmedEnd(
    piece
      .replaceAll(/\p{Cc}+/gu, ' ')
      .replace(/^[^:]*:\s/u, '')
      .replace(/^[\s"'“”„«»()[\]*•-]+/u, ''),
    /[\s"'“”„«»()[\]*:]/u,
  );

const isTerm = (piece: string): boolean =>
  [...piece].length <= MAX_TERM_LENGTH && piece.split(/\s+/u).length <= MAX_WORDS;

/** Neighbours make one name: `New York`. */
function namesIn(sentence: string): string[] {
  const names: string[][] = [[]];
  for (const [index, word] of sentence.split(/\s+/u).map(plain).entries()) {
    if (index > 0 && /[\p{Lu}\p{N}]/u.test(word)) names.at(-1)?.push(word);
    else names.push([]);
  }
  return names.filter((name) => name.length > 0).map((name) => name.join(' '));
}
