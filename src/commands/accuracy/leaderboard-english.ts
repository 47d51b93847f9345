import { americanSpelling } from './american-spelling.js';

/**
 * The rules by which the Open ASR Leaderboard makes English texts alike before it compares them: those of Whisper's English
 * text normaliser (github.com/openai/whisper, whisper/normalizers; described in the paper of Whisper, appendix C), written
 * anew. Numbers become digits, contractions whole words, and British spellings American; what is only a sound goes. The
 * spellings are by rules and a list of our own, not by Whisper's list of 1,700.
 * @returns words
 */
export function leaderboardEnglish(text: string): string[] {
  let plain = text
    .toLowerCase()
    .replaceAll(/[<[][^<>[\]]*[>\]]|\([^()]+\)/g, '')
    .replaceAll(/\b(?:hmm|mm|mhm|mmm|uh|um)\b/g, '')
    .replaceAll(/\s/g, ' ')
    .replaceAll(" '", "'");
  for (const [pattern, replacement] of CONTRACTIONS) plain = plain.replaceAll(pattern, replacement);
  plain = withoutSymbols(plain.replaceAll(/(\d),(?=\d)/g, '$1').replaceAll(/\.(?!\d)/g, ' '));
  return digits(plain)
    .map(americanSpelling)
    .join(' ')
    .replaceAll(/([$¢€£])\s+(?=\d)/g, '$1')
    .replaceAll(/(\d)\s+%/g, '$1%')
    .replaceAll(/[.$¢€£](?!\d)/g, ' ')
    .replaceAll(/(?<!\d)%/g, ' ')
    .split(/\s+/)
    .filter(Boolean);
}

const whole = (words: Readonly<Record<string, string>>): [RegExp, string][] =>
  Object.entries(words).map(([word, replacement]) => [new RegExp(String.raw`\b${word}\b`, 'g'), replacement]);

/** In this order: what is special comes first. */
const CONTRACTIONS: readonly [RegExp, string][] = [
  ...whole({
    "won't": 'will not',
    "can't": 'can not',
    "let's": 'let us',
    "ain't": 'aint',
    "y'all": 'you all',
    wanna: 'want to',
    gotta: 'got to',
    gonna: 'going to',
    "i'ma": 'i am going to',
    imma: 'i am going to',
    woulda: 'would have',
    coulda: 'could have',
    shoulda: 'should have',
    "ma'am": 'madam',
    mr: 'mister ',
    mrs: 'missus ',
    st: 'saint ',
    dr: 'doctor ',
    prof: 'professor ',
    capt: 'captain ',
    gov: 'governor ',
    ald: 'alderman ',
    gen: 'general ',
    sen: 'senator ',
    rep: 'representative ',
    pres: 'president ',
    rev: 'reverend ',
    hon: 'honorable ',
    asst: 'assistant ',
    assoc: 'associate ',
    lt: 'lieutenant ',
    col: 'colonel ',
    jr: 'junior ',
    sr: 'senior ',
    esq: 'esquire ',
  }),
  [/'(d|s)(?= been\b)/g, '=$1'],
  [/'(d|s)(?= gone\b)/g, '=$1'],
  [/'d(?= done\b)/g, '=d'],
  [/'s(?= got\b)/g, '=s'],
  [/=d/g, ' had'],
  [/=s/g, ' has'],
  [/n't\b/g, ' not'],
  [/'re\b/g, ' are'],
  [/'s\b/g, ' is'],
  [/'d\b/g, ' would'],
  [/'ll\b/g, ' will'],
  [/'t\b/g, ' not'],
  [/'ve\b/g, ' have'],
  [/'m\b/g, ' am'],
];

/** Letters that Unicode does not take apart. */
const LETTERS: Readonly<Record<string, string>> = {
  œ: 'oe',
  ø: 'o',
  æ: 'ae',
  ß: 'ss',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
};

/** Without accents; other marks, symbols and punctuation become spaces, but for those of numbers. */
function withoutSymbols(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/[œøæßđðþł]/g, (letter) => LETTERS[letter] as string)
    .replaceAll(/\p{Mn}/gu, '')
    .replaceAll(/(?![.%$¢€£])[\p{M}\p{S}\p{P}]/gu, ' ');
}

const ONES = new Map(
  'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'
    .split(' ')
    .map((name, index) => [name, index + 1]),
);
const TENS = new Map(
  'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ').map((name, index) => [name, (index + 2) * 10]),
);
const SCALES = new Map([
  ['hundred', 100],
  ['thousand', 1e3],
  ['million', 1e6],
  ['billion', 1e9],
  ['trillion', 1e12],
]);
const ZEROS = new Set(['o', 'oh', 'zero']);
const ORDINALS: Readonly<Record<string, string>> = {
  one: 'first',
  two: 'second',
  three: 'third',
  five: 'fifth',
  eight: 'eighth',
  nine: 'ninth',
  twelve: 'twelfth',
};
const SIGNS: Readonly<Record<string, string>> = { minus: '-', negative: '-', plus: '+', positive: '+' };
const CURRENCIES: Readonly<Record<string, string>> = {
  pound: '£',
  pounds: '£',
  euro: '€',
  euros: '€',
  dollar: '$',
  dollars: '$',
  cent: '¢',
  cents: '¢',
};
const REPEATS: Readonly<Record<string, number>> = { double: 2, triple: 3 };

/** `first`, `twenties`, `thousandths`: the number and what follows it. */
const SUFFIXED = new Map<string, { name: string; suffix: string }>([['zeroth', { name: 'zero', suffix: 'th' }]]);
for (const name of [...ONES.keys(), ...TENS.keys(), ...SCALES.keys()]) {
  const plural = name === 'six' ? 'sixes' : TENS.has(name) ? name.replace('y', 'ies') : `${name}s`;
  const ordinal = ORDINALS[name] ?? (TENS.has(name) ? name.replace('y', 'ieth') : `${name}th`);
  const suffix = { one: 'st', two: 'nd', three: 'rd' }[name] ?? 'th';
  SUFFIXED.set(plural, { name, suffix: 's' }).set(ordinal, { name, suffix });
}

const isDigits = (word: string | undefined): boolean => word !== undefined && /^\d+(?:\.\d+)?$/.test(word);
const isNumberWord = (word: string | undefined): boolean =>
  word !== undefined &&
  (isDigits(word) ||
    [ZEROS, ONES, TENS, SCALES, SUFFIXED].some((names) => names.has(word)) ||
    [SIGNS, CURRENCIES, REPEATS].some((names) => word in names) ||
    ['and', 'point', 'percent', 'per'].includes(word));

/** The words of a text, with its numbers in digits: `twenty twenty one`, `2021`. */
function digits(text: string): string[] {
  const reader = new NumberReader(prepared(text).split(/\s+/).filter(Boolean));
  return reader
    .read()
    .join(' ')
    .replaceAll(/([€£$])(\d+) (?:and )?¢(\d{1,2})\b/g, (_, sign: string, units: string, cents: string) => {
      return `${sign}${units}.${cents.padStart(2, '0')}`;
    })
    .replaceAll(/[€£$]0\.(\d{1,2})\b/g, (_, cents: string) => `¢${Number(cents)}`)
    .replaceAll(/\b1(s?)\b/g, 'one$1')
    .split(' ');
}

const SCALE_NAMES = [...SCALES.keys()].join('|');
const HALF_MORE = new RegExp(
  String.raw`\b(${[...ZEROS, ...ONES.keys(), ...TENS.keys(), ...SCALES.keys()].join('|')})\s+and\s+a\s+half\b`,
  'g',
);
const HALF_OF = new RegExp(String.raw`\b(?:a\s+half|half(?:\s+a)?)\s+(${SCALE_NAMES})\b`, 'g');

/** Halves, and spaces between letters and digits. */
function prepared(text: string): string {
  return text
    .replaceAll(HALF_MORE, '$1 point five')
    .replaceAll(HALF_OF, '0.5 $1')
    .replaceAll(/(?<=[a-z])(?=\d)|(?<=\d)(?=[a-z])/g, ' ')
    .replaceAll(/(\d)\s+(st|nd|rd|th|s)\b/g, '$1$2');
}

/** Reads the words of a text from the first to the last, and gathers the parts of a number. */
class NumberReader {
  private readonly out: string[] = [];
  private prefix = '';
  /** The number so far: its value, or its digits once they are said one by one. */
  private value: number | string | null = null;
  private at = 0;

  constructor(private readonly words: readonly string[]) {}

  read(): string[] {
    for (; this.at < this.words.length; this.at++) this.readWord(this.words[this.at] as string);
    this.flush();
    return this.out;
  }

  private get before(): string {
    return this.words[this.at - 1] ?? '';
  }

  private get next(): string | undefined {
    return this.words[this.at + 1];
  }

  private readWord(word: string): void {
    const bare = /^[-+$¢€£]/.test(word) ? word.slice(1) : word;
    const suffixed = SUFFIXED.get(word);
    const small = ONES.get(word) ?? TENS.get(word);
    const scale = SCALES.get(word);
    if (isDigits(bare)) this.readDigits(word, bare);
    else if (ZEROS.has(word)) this.value = `${this.value ?? ''}0`;
    else if (small !== undefined) this.value = this.withSmall(small);
    else if (scale !== undefined) this.value = this.withScale(scale);
    else if (suffixed) this.readSuffixed(suffixed);
    else if (!this.readSpecial(word)) this.flush(word);
  }

  private readDigits(word: string, bare: string): void {
    if (typeof this.value === 'string' && this.value.endsWith('.')) {
      this.value += word;
      return;
    }
    this.flush();
    if (bare !== word) this.prefix = word.charAt(0);
    this.value = bare.includes('.') ? bare : Number(bare);
  }

  /** 1 to 19, or tens: added where a place is free (`forty` `two`), else set behind (`nineteen` `ninety`). */
  private withSmall(small: number): number | string {
    const { value, before } = this;
    if (value === null) return small;
    if (small < 10 && typeof value === 'string' && TENS.has(before)) return value.slice(0, -1) + String(small);
    const isAfterOnes = ONES.has(before) && small < 20;
    const isFree = typeof value === 'number' && !isAfterOnes && value % (small < 10 ? 10 : 100) === 0;
    return isFree ? value + small : `${value}${small}`;
  }

  private withScale(scale: number): number | string {
    const { value } = this;
    if (value === null) return scale;
    if (typeof value === 'number' && value !== 0) return thousands(value) + (value % 1000) * scale;
    const product = Number((Number(value) * scale).toPrecision(15));
    if (Number.isInteger(product)) return product;
    this.flush();
    return scale;
  }

  private readSuffixed({ name, suffix }: { name: string; suffix: string }): void {
    const scale = SCALES.get(name);
    const value = scale === undefined ? this.withSmall(ONES.get(name) ?? TENS.get(name) ?? 0) : this.withScale(scale);
    this.value = `${value}${suffix}`;
    this.flush();
  }

  /** @returns false for a word that is no part of a number */
  private readSpecial(word: string): boolean {
    const { value, next } = this;
    if (word in SIGNS) return this.readSign(word);
    if (value !== null && word in CURRENCIES) {
      this.prefix = CURRENCIES[word] as string;
      this.flush();
      return true;
    }
    if (value !== null && (word === 'percent' || (word === 'per' && next === 'cent'))) {
      this.value = `${value}%`;
      this.flush();
      if (word === 'per') this.at += 1;
      return true;
    }
    if (!isNumberWord(next)) return false;
    if (word === 'and') return SCALES.has(this.before);
    if (word === 'point' && isDecimal(next)) this.value = `${value ?? ''}.`;
    else if (word in REPEATS && next !== undefined && (ONES.has(next) || ZEROS.has(next))) {
      this.value = `${value ?? ''}${String(ONES.get(next) ?? 0).repeat(REPEATS[word] as number)}`;
      this.at += 1;
    } else return false;
    return true;
  }

  private readSign(word: string): boolean {
    if (!isNumberWord(this.next)) return false;
    this.flush();
    this.prefix = SIGNS[word] as string;
    return true;
  }

  /** Ends the number, if there is one. */
  private flush(word?: string): void {
    if (this.value !== null) {
      this.out.push(`${this.prefix}${this.value}`);
      this.prefix = '';
    }
    this.value = null;
    if (word === undefined) return;
    this.out.push(`${this.prefix}${word}`);
    this.prefix = '';
  }
}

const thousands = (value: number): number => Math.floor(value / 1000) * 1000;

const isDecimal = (word: string | undefined): boolean =>
  word !== undefined && (isDigits(word) || ONES.has(word) || TENS.has(word) || ZEROS.has(word));
