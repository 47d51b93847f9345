import { type Token, tokensOf } from './folding.js';
import type { Phrase, SearchQuery } from './search-query.js';

/** Characters. */
const MAX_LENGTH = 200;
/** About how many of them stand before the first match. */
const BEFORE = 60;
/** Words that are looked at to begin or end with a whole one. */
const MAX_WORD = 30;

/** The part of the text around the first match of a word or phrase, as it was said; the beginning without one. */
export function snippetOf(text: string, query: SearchQuery): string {
  if (text.length <= MAX_LENGTH) return text;
  const start = wordStart(text, Math.max(0, firstMatch(text, query) - BEFORE));
  const end = wordEnd(text, Math.min(text.length, start + MAX_LENGTH));
  return `${start > 0 ? '…' : ''}${text.slice(start, end).trim()}${end < text.length ? '…' : ''}`;
}

/** Characters of a text that its beginning is made of. */
export const MAX_BEGINNING = MAX_LENGTH + MAX_WORD;

/** As the snippet of a search without words. @param text its first {@link MAX_BEGINNING} characters, or more */
export const beginningOf = (text: string): string => snippetOf(text.slice(0, MAX_BEGINNING), []);

/** Where in the text; 0 when the query only excludes. */
function firstMatch(text: string, query: SearchQuery): number {
  const phrases = query.flat().filter(({ isNegative }) => !isNegative);
  const longest = Math.max(0, ...phrases.map(({ tokens }) => tokens.length));
  const recent: Token[] = [];
  for (const token of tokensOf(text)) {
    recent.push(token);
    if (recent.length > longest) recent.shift();
    for (const phrase of phrases) {
      const start = endsWith(recent, phrase);
      if (start) return start.start + offsetIn(text, start, phrase);
    }
  }
  return 0;
}

/** The token with which the phrase begins, if it ends with the last of these. */
function endsWith(recent: Token[], { tokens, isPrefix }: Phrase): Token | undefined {
  const first = recent.length - tokens.length;
  if (first < 0) return undefined;
  const fits = tokens.every((wanted, i) => {
    const { text, isRun } = recent[first + i] as Token;
    const atStart = i > 0;
    const atEnd = i < tokens.length - 1;
    if (isPrefix && !atEnd) return !isRun && text.startsWith(wanted.text);
    if (!isRun || !wanted.isRun) return text === wanted.text;
    if (atStart && atEnd) return text === wanted.text;
    return atStart ? text.startsWith(wanted.text) : atEnd ? text.endsWith(wanted.text) : text.includes(wanted.text);
  });
  return fits ? recent[first] : undefined;
}

/** A run may be as long as the text. */
function offsetIn(text: string, { start, end }: Token, { tokens: [first] }: Phrase): number {
  return first?.isRun ? Math.max(0, text.slice(start, end).indexOf(first.text)) : 0;
}

/** Not in the middle of a word, unless it is very long, and never in the middle of a character. */
function wordStart(text: string, at: number): number {
  if (at === 0) return 0;
  const space = text.slice(at, at + MAX_WORD).search(/\s/);
  return space >= 0 ? at + space : wholeCharacter(text, at);
}

function wordEnd(text: string, at: number): number {
  if (at === text.length) return at;
  const space = /\s\S*$/.exec(text.slice(at - MAX_WORD, at));
  return space ? at - MAX_WORD + space.index : wholeCharacter(text, at);
}

const wholeCharacter = (text: string, at: number): number =>
  /^[\udc00-\udfff]/.test(text.slice(at, at + 1)) ? at - 1 : at;
