const ONES =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const TENS = ',,twenty,thirty,forty,fifty,sixty,seventy,eighty,ninety'.split(',');
const SCALES = ['', ' thousand', ' million', ' billion'];
const ORDINALS: Record<string, string> = {
  one: 'first',
  two: 'second',
  three: 'third',
  five: 'fifth',
  eight: 'eighth',
  nine: 'ninth',
  twelve: 'twelfth',
};
const ABBREVIATIONS: Record<string, string> = {
  mr: 'mister',
  mrs: 'missus',
  dr: 'doctor',
  vs: 'versus',
  ok: 'okay',
  '&': ' and ',
  '%': ' percent',
};
const ABBREVIATION = /\b(?:mr|mrs|dr|vs)\b\.?|\bok\b|[&%]/g;
const NUMBER = /(?<![\p{L}\p{N}])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+|(?:st|nd|rd|th)\b)?/gu;

/** Writes numbers and a few abbreviations of a lower-case English text as they are spoken: `1813`, `eighteen thirteen`. */
export function spokenEnglish(text: string): string {
  return text
    .replaceAll(ABBREVIATION, (found) => ABBREVIATIONS[found.replace('.', '')] ?? found)
    .replaceAll(/\$(\d[\d,]*(?:\.\d+)?)/g, '$1 dollars')
    .replaceAll(NUMBER, spokenNumber);
}

function spokenNumber(written: string): string {
  const digits = written.replaceAll(',', '');
  const [, whole = '', decimals, ordinal] = /^(\d+)(?:\.(\d+)|(st|nd|rd|th))?$/.exec(digits) ?? [];
  const isYear = !written.includes(',') && /^1[1-9]\d\d$/.test(whole) && decimals === undefined;
  const spoken = isYear ? year(whole) : cardinal(whole);
  if (decimals !== undefined) return `${spoken} point ${digitByDigit(decimals)}`;
  return ordinal === undefined ? spoken : ordinalOf(spoken);
}

/** 1805: eighteen oh five. */
function year(digits: string): string {
  const [century, rest] = [below1000(Number(digits.slice(0, 2))), Number(digits.slice(2))];
  if (rest === 0) return `${century} hundred`;
  return `${century} ${rest < 10 ? 'oh ' : ''}${below1000(rest)}`;
}

/** Numbers with a leading zero and very long ones are read digit by digit. */
function cardinal(digits: string): string {
  if (digits.length > 12 || (digits.length > 1 && digits.startsWith('0'))) return digitByDigit(digits);
  if (Number(digits) === 0) return 'zero';
  const groups: string[] = [];
  for (let rest = Number(digits), scale = 0; rest > 0; rest = Math.floor(rest / 1000), scale++) {
    if (rest % 1000 > 0) groups.unshift(below1000(rest % 1000) + (SCALES[scale] as string));
  }
  return groups.join(' ');
}

function below1000(number: number): string {
  const [hundreds, rest] = [Math.floor(number / 100), number % 100];
  const parts = hundreds > 0 ? [`${ONES[hundreds]} hundred`] : [];
  if (rest >= 20) parts.push(TENS[Math.floor(rest / 10)] as string);
  const ones = rest >= 20 ? rest % 10 : rest;
  if (ones > 0) parts.push(ONES[ones] as string);
  return parts.join(' ');
}

function ordinalOf(cardinalNumber: string): string {
  return cardinalNumber.replace(/\b\w+$/, (last) => ORDINALS[last] ?? `${last.replace(/y$/, 'ie')}th`);
}

const digitByDigit = (digits: string): string => [...digits].map((digit) => ONES[Number(digit)]).join(' ');
