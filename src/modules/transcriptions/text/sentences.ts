import { type TimedToken, type TimedWord, timeTokens } from './time-tokens.js';
import { endsClause, tokensOf } from './tokens.js';

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
const hasSentenceMarks = (text: string): boolean => new RegExp(`[${TERMINATORS}]`, 'u').test(text);

/** A transcript without capitals and punctuation, as small engines give it. */
interface PlainTranscript {
  text: string;
  /** Without them nothing is known of the pauses. */
  words: readonly TimedWord[];
  /** Lower-case English name. */
  language: string;
  durationSeconds: number;
}

/** Scripts that have capitals. Others have letters of two cases too, which are not used like that. */
const CAPITALISED = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}]$/u;
const FIRST_LETTER = /\p{L}/u;

/** The mark that ends a sentence, by the script of its last letter or digit. Thai and Lao have none. */
const MARKS: [script: RegExp, mark: string][] = [
  [/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u, '。'],
  [/[\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Oriya}]/u, '।'],
  [/\p{Script=Armenian}/u, '։'],
  [/\p{Script=Ethiopic}/u, '።'],
  [/\p{Script=Myanmar}/u, '။'],
  [/\p{Script=Khmer}/u, '។'],
  [/\p{Script=Tibetan}/u, '།'],
  [/[\p{Script=Thai}\p{Script=Lao}]/u, ''],
];

/** English words with a capital wherever they stand; `may`, `march` and `august` are others, too. */
const ENGLISH_CAPITALS = new RegExp(
  "^(?:i(?:'(?:m|ll|ve|d))?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?" +
    '|january|february|april|june|july|september|october|november|december|english|american)$',
);

/**
 * The text with a capital at the beginning and a mark at the end of each sentence. Sentences are told by pauses only: there
 * are no question marks, commas and names. Null for a text that has capitals or punctuation already, or no word times.
 */
export function addPunctuation({ text, words, language, durationSeconds }: PlainTranscript): string | null {
  if (words.length === 0 || text.trim() === '' || /\p{Lu}/u.test(text) || hasSentenceMarks(text)) return null;
  const plain = tokensOf(text);
  if (plain.some((token) => endsClause(token.text))) return null;
  let beginsSentence = true;
  const written = markSentenceEnds(timeTokens(plain, words, durationSeconds)).map((token, index) => {
    const isCapitalised = beginsSentence || (language === 'english' && ENGLISH_CAPITALS.test(token.text));
    beginsSentence = token.endsSentence;
    const word = isCapitalised ? capitalised(token.text) : token.text;
    const separator = token.newLine ? '\n' : token.glued ? '' : ' ';
    return (index === 0 ? '' : separator) + word + (token.endsSentence ? markAfter(word, language) : '');
  });
  return written.join('');
}

function capitalised(word: string): string {
  return word.replace(FIRST_LETTER, (letter) => {
    const upper = letter.toUpperCase();
    return CAPITALISED.test(letter) && upper.length === letter.length ? upper : letter;
  });
}

function markAfter(word: string, language: string): string {
  const last = word.match(/[\p{L}\p{M}\p{N}]/gu)?.findLast((character) => /[\p{L}\p{N}]/u.test(character));
  if (last === undefined) return '';
  if (language === 'urdu') return '۔';
  return MARKS.find(([script]) => script.test(last))?.[1] ?? '.';
}
