import { timeTokens, type TimedWord } from '../alignment/time-tokens.js';
import { endsClause, tokensOf } from '../alignment/tokens.js';
import { hasSentenceMarks, markSentenceEnds } from './sentence-ends.js';

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
