import type { TimedToken } from '../alignment/time-tokens.js';

/** A token, and whether a sentence ends with it. */
export interface SentenceToken extends TimedToken {
  endsSentence: boolean;
}

/**
 * Full stops, question and exclamation marks and their like in all scripts: Latin, Chinese and Japanese, Arabic and Urdu,
 * Devanagari, Greek, Armenian, Ethiopic, Burmese, Khmer, Tibetan.
 */
const TERMINATORS = '.!?…‼⁇⁈⁉。．｡！？؟۔।॥\u037e։።፧፨။។៕།༎';
/** Quotation marks and brackets that close after it. */
const CLOSING = String.raw`[\p{Pe}\p{Pf}"'»]*`;
const TERMINATED = new RegExp(`(?<![${TERMINATORS}])([${TERMINATORS}]+)(${CLOSING})$`, 'u');
/** Only so many characters of a token are looked at, because a text may be one row of thousands of dots. */
const TAIL = 32;
/** A single dot, or several: it may belong to an abbreviation, or stand for words that are missing. */
const MAY_GO_ON = /^[.…．]+$/u;

const OPENING = /^[\p{Ps}\p{Pi}\p{Pf}"'¿¡«»]+/u;
const LOWER_CASE = /^\p{Ll}/u;
const INITIAL = /^\p{Lu}$/u;
const DOTTED = /^(?:\p{L}{1,2}\.)+\p{L}{1,2}$/u;
const ORDINAL = /^\d{1,2}$/;

/** Words before names: no sentence ends with them. */
const TITLES = new Set(
  'mr mrs ms mx dr prof rev sr jr gen col sgt capt lt gov sen hr herr fam dipl ing sra srta mme mlle mgr sig dott avv mevr'.split(
    ' ',
  ),
);
/** Words before numbers: elsewhere most of them are words like others. */
const BEFORE_NUMBERS = new Set('no nr nº n° núm num fig abb vol art p pp s st стр'.split(' '));
/** Other abbreviations of a few languages; a sentence may end with one. */
const ABBREVIATIONS = new Set(
  'etc vs cf approx dept inc ltd corp bros ave blvd rd st feb apr jun jul aug sept oct nov dec usw bzw evtl ggf inkl exkl bspw vgl zzgl mio mrd avda ecc tzn itd itp np т г ул др пр тыс млн млрд руб коп'.split(
    ' ',
  ),
);

/** At an abbreviation, a pause of this length means that the sentence has ended. */
const END_PAUSE_SECONDS = 0.5;
/** A pause that ends a sentence in a text with punctuation, which usually tells. */
const LONG_PAUSE_SECONDS = 2;
/**
 * Without punctuation pauses alone tell. The longer a sentence has become, the shorter they need to be: below so many words
 * a pause of so many seconds.
 */
const ENDING_PAUSES = [
  { words: 3, seconds: 1.5 },
  { words: 25, seconds: 0.7 },
  { words: 50, seconds: 0.4 },
  { words: Infinity, seconds: 0.2 },
];

/** Finds the sentences of a text by its punctuation, line feeds and pauses. The last token always ends one. */
export function markSentenceEnds(tokens: readonly TimedToken[]): SentenceToken[] {
  const text = tokens.map((token) => token.text).join(' ');
  const isPunctuated = tokens.some((token) => TERMINATED.test(token.text.slice(-TAIL)));
  const hasCapitals = /\p{Lu}/u.test(text);
  let words = 0;
  return tokens.map((token, index) => {
    words += 1;
    const next = tokens[index + 1];
    const endsSentence =
      !next ||
      next.newLine ||
      (isPunctuated
        ? next.start - token.end >= LONG_PAUSE_SECONDS || endsWithMark(token, next, hasCapitals)
        : next.start - token.end >= endingPause(words));
    if (endsSentence) words = 0;
    return { ...token, endsSentence };
  });
}

function endingPause(words: number): number {
  return ENDING_PAUSES.find((pause) => words < pause.words)?.seconds ?? 0;
}

function endsWithMark(token: TimedToken, next: TimedToken, hasCapitals: boolean): boolean {
  const [, mark, closing = ''] = TERMINATED.exec(token.text.slice(-TAIL)) ?? [];
  if (mark === undefined) return false;
  const goesOn = hasCapitals && LOWER_CASE.test(next.text.replace(OPENING, ''));
  // `“Why?” she asked`
  if (!MAY_GO_ON.test(mark)) return !(goesOn && closing !== '');
  if (goesOn) return false;
  const word = token.text.slice(0, token.text.length - mark.length - closing.length).replace(OPENING, '');
  if (mark.length > 1 || closing !== '') return true;
  const plain = word.toLowerCase();
  if (TITLES.has(plain) || (BEFORE_NUMBERS.has(plain) && /^\d/.test(next.text))) return false;
  return !isAbbreviation(word) || next.start - token.end >= END_PAUSE_SECONDS;
}

/** With initials (`J. S. Bach`), `p.m.`, and the ordinals of many languages (`3. Mai`). */
function isAbbreviation(word: string): boolean {
  return (
    ABBREVIATIONS.has(word.toLowerCase()) ||
    (INITIAL.test(word) && word !== 'I') ||
    DOTTED.test(word) ||
    ORDINAL.test(word)
  );
}

/** Whether a text has marks that end sentences. */
export const hasSentenceMarks = (text: string): boolean => new RegExp(`[${TERMINATORS}]`, 'u').test(text);
