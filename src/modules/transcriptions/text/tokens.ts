/** A piece of text after which a line may be broken: a word with its punctuation, or a word of a script without spaces. */
export interface Token {
  text: string;
  /** It follows the token before it without a space. */
  glued: boolean;
  /** A line feed stands before it. */
  newLine: boolean;
}

/** Scripts that are written without spaces between words, as the inside of a character class. */
export const UNSPACED = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`;
export const HAS_UNSPACED = new RegExp(`[${UNSPACED}]`, 'u');

/** Control characters end a token like white space, so that no token can break a line or a cue. */
const CHUNK = /[^\s\p{Cc}]+/gu;

/** Runs of letters and digits, and single characters of scripts without spaces. */
const UNIT = new RegExp(`[${UNSPACED}]\\p{M}*|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}])+`, 'gu');

const OPENING_PUNCTUATION = /^[\p{Ps}\p{Pi}]+$/u;
const wordSegmenter = new Intl.Segmenter(undefined, { granularity: 'word' });
/** A longer run without spaces is cut here, because the time to segment grows faster than the length. */
const SEGMENTED = /.{1,1000}/gsu;

/** The tokens of a text in order. Joined with their spaces they are the text, but for the kind and number of blanks. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const { 0: chunk, index } of text.matchAll(CHUNK)) {
    const newLine = text.slice(end, index).includes('\n');
    end = index + chunk.length;
    if (!HAS_UNSPACED.test(chunk)) tokens.push({ text: chunk, glued: false, newLine });
    else segment(chunk).forEach((part, i) => tokens.push({ text: part, glued: i > 0, newLine: newLine && i === 0 }));
  }
  return tokens;
}

/** Joins tokens as they stand in the text, with single spaces. */
export function joinTokens(tokens: readonly Token[]): string {
  let text = '';
  for (const token of tokens) text += token.glued || text === '' ? token.text : ` ${token.text}`;
  return text;
}

/** With the punctuation that these scripts use. */
const UNSPACED_OR_MARK = String.raw`${UNSPACED}\u3001-\u303f\uff01-\uff0f\uff1a-\uff1f`;
const ENDS_UNSPACED = new RegExp(`[${UNSPACED_OR_MARK}][\\p{M}\\p{P}]{0,16}$`, 'u');
const BEGINS_UNSPACED = new RegExp(`^\\p{P}*[${UNSPACED_OR_MARK}]|^[\\p{P}]+$`, 'u');

/** The text of a list of words: with spaces, but for scripts that have none. */
export function joinWords(words: readonly string[]): string {
  return words
    .map((word, index) => {
      const isGlued = ENDS_UNSPACED.test(words[index - 1] ?? '') && BEGINS_UNSPACED.test(word);
      return isGlued || index === 0 ? word.trim() : ` ${word.trim()}`;
    })
    .join('');
}

/**
 * What is compared to tell whether two spellings are the same word: lower-case letters and digits without punctuation.
 * Words that an engine cuts differently, such as `don't` and `don` `'t`, have the same units.
 */
export function unitsOf(text: string): string[] {
  const plain = text.normalize('NFKC').toLowerCase();
  return plain.match(UNIT) ?? [plain];
}

/** Where the units of a text begin in it. */
export const unitStarts = (text: string): number[] => [...text.matchAll(UNIT)].map(({ index }) => index);

/** With the quotation marks and brackets that close after it. */
const CLAUSE_END = /[,;:،、，；：–—][\p{Pe}\p{Pf}"']*$/u;

export const endsClause = (text: string): boolean => CLAUSE_END.test(text);

/** Words of a run of a script without spaces. Closing punctuation stays with the word before it, opening with the next. */
function segment(chunk: string): string[] {
  const parts: string[] = [];
  let opening = '';
  for (const [piece] of chunk.matchAll(SEGMENTED)) {
    for (const { segment: part, isWordLike } of wordSegmenter.segment(piece)) {
      if (!isWordLike && OPENING_PUNCTUATION.test(part)) {
        opening += part;
      } else if (isWordLike || parts.length === 0 || opening !== '') {
        parts.push(opening + part);
        opening = '';
      } else {
        parts.push((parts.pop() ?? '') + part);
      }
    }
  }
  if (opening !== '') parts.push((parts.pop() ?? '') + opening);
  return parts;
}
