/** Part of a text that is searched as a whole: a word, or characters of a script that writes no spaces. */
export interface Token {
  /** Folded: lower case, without accents. */
  text: string;
  /** In a script without spaces any part of the token is found, not only the whole. */
  isRun: boolean;
  /** Where the word of the token begins and ends in the text. */
  start: number;
  end: number;
}

/** Letters, digits and marks, and the invisible characters that join or hyphenate a word. */
const WORD = new RegExp(String.raw`[\p{L}\p{N}\p{M}\u00ad\u200c\u200d\u2060]+`, 'gu');
const WORD_PART = /[\p{L}\p{N}\p{M}]+/gu;
/** Scripts that write no spaces between words, and Korean, which joins its particles to them. */
const RUN_SCRIPTS = ['Han', 'Hira', 'Kana', 'Bopo', 'Hang', 'Thai', 'Laoo', 'Khmr', 'Mymr'];
const RUN_CLASS = RUN_SCRIPTS.map((script) => String.raw`\p{scx=${script}}`).join('');
const RUN_OR_WORD = new RegExp(`([${RUN_CLASS}]+)|[^${RUN_CLASS}]+`, 'gu');

/**
 * Accents and vowel points of Latin, Greek, Cyrillic, Hebrew and Arabic, and invisible characters. Not the vowel signs
 * of Thai or the scripts of India, without which other words remain.
 */
const ACCENTS = new RegExp(
  String.raw`[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f` +
    String.raw`\u0483-\u0487` +
    String.raw`\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7` +
    String.raw`\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed` +
    String.raw`\u00ad\u200c\u200d\u2060\ufe00-\ufe0f]`,
  'g',
);
/** Letters that Unicode does not decompose; beside the accented ones, those that `unaccent` of Postgres knows. */
const LETTERS: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  ħ: 'h',
  ŧ: 't',
  þ: 'th',
  ı: 'i',
  ς: 'σ',
};
const LETTER = /[ßæœøđðłħŧþıς]/g;

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/** Lower case without accents. May hold characters that belong to no word, such as the stroke of ½. */
export function fold(word: string): string {
  if (isAscii(word)) return word.toLowerCase();
  // Lower case twice: some letters have a capital only before they are decomposed, and some only afterwards.
  const plain = word.toLowerCase().normalize('NFKD').toLowerCase().replace(ACCENTS, '').normalize('NFKC');
  return plain.replace(LETTER, (letter) => LETTERS[letter] as string);
}

/** The tokens of a text, in order. Punctuation and symbols are left out. */
export function* tokensOf(text: string): Generator<Token> {
  for (const { 0: word, index: start } of text.matchAll(WORD)) {
    const end = start + word.length;
    if (isAscii(word)) {
      yield { text: word.toLowerCase(), isRun: false, start, end };
      continue;
    }
    for (const [part] of fold(word).matchAll(WORD_PART)) {
      for (const [piece, run] of part.matchAll(RUN_OR_WORD))
        yield { text: piece, isRun: run !== undefined, start, end };
    }
  }
}
