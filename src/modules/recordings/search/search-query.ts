import { InvalidRequestError } from '../../../platform/errors/errors.js';
import { type Token, tokensOf } from './folding.js';
import { type AccountTerms, gramsOf, isPair, MAX_TERM_LENGTH, quoted } from './search-terms.js';

export const MAX_QUERY_LENGTH = 1000;
const MAX_TOKENS = 50;
/** Characters. Fewer begin too many words. */
const MIN_PREFIX_LENGTH = 3;

/** Tokens that must stand side by side: a word, a quoted phrase, or a word that consists of several, such as `e-mail`. */
export interface Phrase {
  tokens: Token[];
  isNegative: boolean;
  /** The last token may be the beginning of a word. */
  isPrefix: boolean;
}

/** Alternatives, each a list of phrases that must all be there, or be absent. */
export type SearchQuery = Phrase[][];

/** A phrase in quotation marks, perhaps to its end, or anything up to the next space or quotation mark. */
const PART = /(-?)(?:"([^"]*)"?|([^\s"]+))/gu;

/**
 * Reads a query as `websearch_to_tsquery` of Postgres does: words that must all be there, `"phrases"`, `or`, `-word`.
 * `or` binds less than the words beside it. The last word, if it is not in quotation marks, may be the beginning of one.
 * @throws InvalidRequestError
 */
export function parseQuery(text: string): SearchQuery {
  const alternatives: SearchQuery = [[]];
  let tokens = 0;
  let pendingOr: Phrase | null = null;
  let end: Phrase | undefined;
  for (const [, minus, quotedText, word] of text.matchAll(PART)) {
    const phrase = { tokens: [...tokensOf(quotedText ?? word ?? '')], isNegative: minus !== '', isPrefix: false };
    if (phrase.tokens.length === 0) continue;
    if (end) end.isPrefix = false;
    end = phrase;
    phrase.isPrefix = word !== undefined && minus === '' && canBePrefix(phrase.tokens.at(-1) as Token);
    tokens += phrase.tokens.length;
    if (tokens > MAX_TOKENS) throw invalid(`must have at most ${MAX_TOKENS} words`);
    const last = alternatives.at(-1) as Phrase[];
    if (pendingOr) {
      alternatives.push([phrase]);
      pendingOr = null;
    } else if (word?.toLowerCase() === 'or' && minus === '' && last.length > 0) pendingOr = phrase;
    else last.push(phrase);
  }
  // At the end it has nothing to choose from, and is a word.
  if (pendingOr) alternatives.at(-1)?.push(pendingOr);
  if (tokens === 0) throw invalid('must contain a letter or a digit');
  return alternatives;
}

/** Parts of a run are found anyway, and longer terms are hashed. */
const canBePrefix = ({ text, isRun }: Token): boolean =>
  !isRun && [...text].length >= MIN_PREFIX_LENGTH && text.length <= MAX_TERM_LENGTH;

const invalid = (reason: string): InvalidRequestError => new InvalidRequestError({ field: 'q', reason });

/** What the index can tell: at least the documents that the query matches. As text of a `tsquery`. */
export function indexQuery(query: SearchQuery, terms: AccountTerms): string {
  const alternatives = query.map((phrases) => {
    const conditions = new Set<string>();
    for (const phrase of phrases) {
      if (!phrase.isNegative) for (const term of termsOf(phrase, terms)) conditions.add(term);
      else if (isDecidedByIndex(phrase)) conditions.add(`!(${termsOf(phrase, terms).join(' & ')})`);
    }
    const isAnchored = phrases.some(({ isNegative }) => !isNegative);
    return [...(isAnchored ? [] : [quoted(terms.transcribed)]), ...conditions].join(' & ');
  });
  return alternatives.map((conditions) => `(${conditions})`).join(' | ');
}

/** For the rank: the words that are looked for. Null when there are none. */
export function rankQuery(query: SearchQuery, terms: AccountTerms): string | null {
  const alternatives = query
    .map((phrases) => phrases.filter(({ isNegative }) => !isNegative))
    .filter((phrases) => phrases.length > 0)
    .map((phrases) => phrases.flatMap((phrase) => wordsOf(phrase, terms)).join(' & '));
  return alternatives.length > 0 ? alternatives.map((words) => `(${words})`).join(' | ') : null;
}

/** What the index cannot tell, as texts that the folded text must hold or not; null when the index tells all. */
export function phraseConditions(query: SearchQuery): { pattern: string; isNegative: boolean }[][] | null {
  if (query.every((phrases) => phrases.every(isDecidedByIndex))) return null;
  return query.map((phrases) =>
    phrases.map((phrase) => ({ pattern: phrasePattern(phrase), isNegative: phrase.isNegative })),
  );
}

/** As `textTerms` folds a text: words between spaces. At its ends a run may be a part of a longer one. */
function phrasePattern({ tokens, isPrefix }: Phrase): string {
  const inner = tokens.map(({ text }) => text).join(' ');
  return `${tokens[0]?.isRun ? '' : ' '}${inner}${isPrefix || tokens.at(-1)?.isRun ? '' : ' '}`;
}

function isDecidedByIndex({ tokens: [first, second, third], isPrefix }: Phrase): boolean {
  if (!first || third) return false;
  if (second) return !isPrefix && isPair(first, second);
  return !first.isRun || [...first.text].length <= 2;
}

/** All of them are in a document with the phrase. As a `tsquery` writes them. */
function termsOf(phrase: Phrase, terms: AccountTerms): string[] {
  const { tokens, isPrefix } = phrase;
  const pairs = tokens.flatMap((token, i) => {
    const before = tokens[i - 1];
    const isWhole = !isPrefix || i < tokens.length - 1;
    return before && isWhole && isPair(before, token) ? [quoted(terms.pair(before.text, token.text))] : [];
  });
  return [...wordsOf(phrase, terms), ...pairs];
}

function wordsOf({ tokens, isPrefix }: Phrase, terms: AccountTerms): string[] {
  return tokens.flatMap(({ text, isRun }, i) => {
    if (!isRun) return [quoted(terms.word(text)) + (isPrefix && i === tokens.length - 1 ? ':*' : '')];
    const { characters, neighbours } = gramsOf(text);
    return (neighbours.length > 0 ? neighbours : characters).map((gram) => quoted(terms.word(gram)));
  });
}
