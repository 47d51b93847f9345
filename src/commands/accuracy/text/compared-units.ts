import { HAS_UNSPACED, UNSPACED } from '../../../modules/transcriptions/text/tokens.js';
import { spokenEnglish } from './spoken-english.js';

/** What is counted: words, or characters in scripts that have no spaces between words. */
export type UnitName = 'word' | 'character';

/** Single characters of scripts without spaces, and runs of letters and digits with the apostrophes inside them. */
const UNIT = new RegExp(
  `[${UNSPACED}]\\p{M}*|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}])+(?:'(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}])+)*`,
  'gu',
);
const APOSTROPHES = /[\u2018\u2019\u02bc\u0060\u00b4]/g;
/** Marks that writers of Arabic and Hebrew may leave out, and characters that nobody sees. */
const OPTIONAL_MARKS = /[\u0591-\u05c7\u0640\u064b-\u065f\u0670\p{Cf}]/gu;

/**
 * The units of a text that are compared: lower case, compatible forms unified (NFKC), without punctuation and symbols.
 * Accents count. English numbers and a few abbreviations are written out as they are spoken.
 */
export function comparedUnits(text: string, language: string | null): string[] {
  const plain = text.normalize('NFKC').toLowerCase().replace(APOSTROPHES, "'").replace(OPTIONAL_MARKS, '');
  return (language === 'english' ? spokenEnglish(plain) : plain).match(UNIT) ?? [];
}

/** Characters where at least half of the units of the reference are single characters of a script without spaces. */
export function unitNameOf(units: readonly string[]): UnitName {
  const characters = units.filter((unit) => HAS_UNSPACED.test(unit)).length;
  return characters > 0 && characters * 2 >= units.length ? 'character' : 'word';
}
