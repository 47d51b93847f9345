/** A stretch of a text: from `start` up to and without `end`, and what it is replaced by. */
export interface Finding {
  start: number;
  end: number;
  replacement: string;
}

const WORDS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
/** As a figure, or as engines without figures write it. */
const DIGIT = String.raw`(?:\d|\b(?:oh|${WORDS.join('|')})\b)`;
const NUMBER = new RegExp(String.raw`\+?\(?${DIGIT}(?:[ .\-()/]{0,3}${DIGIT}){6,18}`, 'giu');
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const EMAIL = /[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/giu;
/** As it is said, and as engines that know no "@" write it. */
const SPOKEN_EMAIL = /\b[\p{L}\p{N}]+(?: dot [\p{L}\p{N}]+)* at [\p{L}\p{N}-]+(?: dot [\p{L}\p{N}]+)+/giu;

/** E-mail addresses, card numbers and telephone numbers of a text, in its order. They do not overlap. */
export function personalDataIn(text: string): Finding[] {
  const addresses = [EMAIL, SPOKEN_EMAIL].flatMap((pattern) => findingsOf(text, pattern, () => '[e-mail address]'));
  const numbers = findingsOf(text, NUMBER, replacementOf);
  const found = [...addresses, ...numbers].toSorted((a, b) => a.start - b.start || b.end - a.end);
  return found.filter(({ start }, i) => found.slice(0, i).every(({ end }) => end <= start));
}

function findingsOf(text: string, pattern: RegExp, replace: (found: string) => string | null): Finding[] {
  return [...text.matchAll(pattern)].flatMap(({ 0: found, index }) => {
    const replacement = replace(found);
    return replacement === null ? [] : [{ start: index, end: index + found.length, replacement }];
  });
}

/** A card number has 13 to 19 digits and a check digit; a telephone number at most 15 (E.164). */
function replacementOf(found: string): string | null {
  if (DATE.test(found)) return null;
  const digits = digitsOf(found);
  if (digits.length >= 13 && hasCheckDigit(digits)) return '[card number]';
  return digits.length <= 15 ? '[telephone number]' : '[number]';
}

function digitsOf(text: string): number[] {
  return (text.toLowerCase().match(/\d|[a-z]+/g) ?? []).map((digit) =>
    /\d/.test(digit) ? Number(digit) : Math.max(0, WORDS.indexOf(digit)),
  );
}

/** The check of card numbers (Luhn): every second digit from the right is doubled. */
function hasCheckDigit(digits: readonly number[]): boolean {
  const sum = digits.toReversed().reduce((total, digit, i) => {
    const value = i % 2 ? digit * 2 : digit;
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
