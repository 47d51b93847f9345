import { isCleanText, trimmedEnd } from './http/input/text-rules.js';

/** Names and words that a speech engine is to expect (D48). */
export const MAX_TERMS = 100;
export const MAX_TERM_LENGTH = 64;

/** What may be said wrong of a list of terms, in words that follow the field's name; or the terms. */
export type ParsedVocabulary = { ok: true; terms: string[] } | { ok: false; reason: string };

const NEITHER = 'must be a JSON list of texts, such as ["Grafana","Zoë"], or terms separated by commas';
const NO_LIST = 'must be a list of texts, such as ["Grafana","Zoë"]';

/** Reads the field of a form: a JSON list, or terms separated by commas. */
export function parseVocabulary(text: string): ParsedVocabulary {
  if (!text.trimStart().startsWith('[')) return checkVocabulary(text.split(',').filter((term) => term.trim() !== ''));
  try {
    const result = checkVocabulary(JSON.parse(text));
    return !result.ok && result.reason === NO_LIST ? { ok: false, reason: NEITHER } : result;
  } catch {
    return { ok: false, reason: NEITHER };
  }
}

/** Checks a JSON value. White space is trimmed, and a term that occurs twice is kept once. Terms are never repeated in a reason. */
export function checkVocabulary(value: unknown): ParsedVocabulary {
  if (!Array.isArray(value) || value.some((term) => typeof term !== 'string')) return { ok: false, reason: NO_LIST };
  const terms = value as string[];
  if (terms.length > MAX_TERMS) {
    return { ok: false, reason: `must have at most ${MAX_TERMS} terms; this has ${terms.length}` };
  }
  for (const [index, term] of terms.entries()) {
    const broken = brokenRule(term);
    if (broken !== null) return { ok: false, reason: `term ${index + 1} ${broken}` };
  }
  return { ok: true, terms: normalizeTerms(terms) };
}

/** Valid terms as they are stored: without white space around them, and each once. */
export const normalizeTerms = (terms: readonly string[]): string[] =>
  distinct(terms.map((term) => term.trim().normalize()));

function brokenRule(term: string): string | null {
  if (!isCleanText(term)) return 'must not contain control characters or lone surrogates';
  const { length } = [...term.trim()];
  if (length > MAX_TERM_LENGTH) return `must be at most ${MAX_TERM_LENGTH} characters; this has ${length}`;
  return /[\p{L}\p{N}]/u.test(term) ? null : 'must contain a letter or a digit';
}

/** The first of those that differ in case only. */
export function distinct(terms: readonly string[]): string[] {
  const seen = new Set<string>();
  return terms.filter((term) => {
    const key = term.toLowerCase();
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

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
