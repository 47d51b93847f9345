import { isCleanText } from './http/input/text-rules.js';

/**
 * Languages by their lower-case English names (`english`) and their codes: ISO 639-1 where there is one, else 639-3.
 * Most come from the Unicode data in Node; listed here is only what speech engines name differently.
 */

/** Names that differ from Unicode's, or that changed in newer Unicode data: clients see the same names in every Node version. */
const PREFERRED_NAMES: Readonly<Record<string, string>> = {
  bn: 'bengali',
  ka: 'georgian',
  mi: 'maori',
  my: 'burmese',
  nn: 'nynorsk',
  or: 'odia',
  tl: 'tagalog',
  tw: 'twi',
  vo: 'volapuk',
};

/** Further names in use; most are those that Whisper knows (`TO_LANGUAGE_CODE` in openai/whisper, tokenizer.py). */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  bangla: 'bn',
  bokmal: 'nb',
  castilian: 'es',
  'chinese mandarin': 'zh',
  farsi: 'fa',
  filipino: 'tl',
  flemish: 'nl',
  gaelic: 'gd',
  haitian: 'ht',
  letzeburgesch: 'lb',
  luxembourgeois: 'lb',
  mandarin: 'zh',
  'mandarin chinese': 'zh',
  moldavian: 'ro',
  moldovan: 'ro',
  myanmar: 'my',
  'norwegian nynorsk': 'nn',
  oriya: 'or',
  panjabi: 'pa',
  pushto: 'ps',
  'simplified chinese': 'zh',
  sinhalese: 'si',
  'traditional chinese': 'zh',
  valencian: 'ca',
};

/** Old codes, codes of speech engines, and macrolanguages that stand for another language. */
const OTHER_CODES: Readonly<Record<string, string>> = {
  bh: 'bho',
  fil: 'tl',
  in: 'id',
  iw: 'he',
  ji: 'yi',
  jw: 'jv',
  mo: 'ro',
  sh: 'sr',
};

/** Languages without a two-letter code that speech engines offer (Whisper, FLEURS and MMS models). */
const THREE_LETTER_CODES =
  'arz ast bal ban bar bho ceb chr ckb doi gsw haw hmn hsb ilo kab kok lus mai min mni nan nap nso pap pcm sah sat scn sco szl tok tpi vec war wuu yue zgh';

interface Names {
  codeOf: ReadonlyMap<string, string>;
  nameOf: ReadonlyMap<string, string>;
}

let names: Names | undefined;

/** Whether `name` is the English name of a language, in any case. A code is not a name. */
export function isLanguage(name: string): boolean {
  return languageCode(name) !== null;
}

/** The code of a language by its English name, or null: `english` → `en`, `cantonese` → `yue`. */
export function languageCode(name: string): string | null {
  names ??= collectNames();
  return names.codeOf.get(plain(name)) ?? null;
}

/**
 * The lower-case English name of a language by a name or a code of a client or an engine, or null: `Mandarin` → `chinese`,
 * `en-US`, `eng` → `english`, `Burmese/Myanmar` → `burmese`.
 */
export function languageName(codeOrName: string): string | null {
  names ??= collectNames();
  const code = languageCode(codeOrName) ?? canonicalCode(codeOrName, names) ?? firstOfSeveral(codeOrName);
  return code === null ? null : (names.nameOf.get(code) ?? null);
}

function collectNames(): Names {
  const unicode = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
  const codeOf = new Map<string, string>();
  const nameOf = new Map<string, string>();
  for (const code of [...twoLetterCodes(), ...THREE_LETTER_CODES.split(' ')]) {
    const unicodeName = unicode.of(code);
    if (unicodeName === undefined || code in OTHER_CODES) continue;
    const name = PREFERRED_NAMES[code] ?? plain(unicodeName);
    nameOf.set(code, name);
    codeOf.set(name, code);
  }
  for (const [name, code] of Object.entries(OTHER_NAMES)) codeOf.set(name, code);
  return { codeOf, nameOf };
}

function* twoLetterCodes(): Generator<string> {
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  for (const first of letters) for (const second of letters) yield first + second;
}

/** Lower case without accents: `Māori` → `maori`. */
function plain(name: string): string {
  return name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

function canonicalCode(tag: string, { nameOf }: Names): string | null {
  const code = /^([a-z]{2,3})(?:[-_][a-z0-9]+)*$/i.exec(tag)?.[1]?.toLowerCase();
  if (code === undefined) return null;
  if (nameOf.has(code)) return code;
  // Intl turns ISO 639-2 and 639-3 codes into 639-1 (`deu` and `ger` → `de`).
  const canonical = OTHER_CODES[code] ?? Intl.getCanonicalLocales(code)[0] ?? code;
  return OTHER_CODES[canonical] ?? canonical;
}

/** `Burmese/Myanmar`, `Spanish; Castilian`, `Chinese (simplified)`: the first name decides. */
function firstOfSeveral(text: string): string | null {
  const end = text.search(/[/;,(]/);
  return end > 0 ? languageCode(text.slice(0, end).trimEnd()) : null;
}

/** Of one list: each may be tried on each chunk. */
export const MAX_LANGUAGES = 5;

/** What may be said wrong of a language or a list of them, in words that follow the field's name; or the names. */
type Checked<T> = ({ ok: true } & T) | { ok: false; reason: string };

/** Checks the English name of a language, in any case. A code is no name. */
export function checkLanguage(text: string): Checked<{ name: string }> {
  const name = isCleanText(text) ? languageName(text) : null;
  if (name === null) return { ok: false, reason: 'must be the English name of a language, such as english' };
  if (!isLanguage(text)) return { ok: false, reason: `must be a language name, not a code: ${name}` };
  return { ok: true, name };
}

const LANGUAGE_LIST = `must be a list of 1 to ${MAX_LANGUAGES} language names, such as ["english","german"]`;

/** Reads the field of a form: a JSON list, or names separated by commas. */
export function parseLanguages(text: string): Checked<{ names: string[] }> {
  if (!text.trimStart().startsWith('[')) {
    return checkLanguages(text.split(',').filter((name) => name.trim() !== ''));
  }
  try {
    return checkLanguages(JSON.parse(text));
  } catch {
    return { ok: false, reason: `${LANGUAGE_LIST}, or names separated by commas` };
  }
}

/** Checks a JSON value. A language that occurs twice is kept once. */
export function checkLanguages(value: unknown): Checked<{ names: string[] }> {
  const isList = Array.isArray(value) && value.every((item) => typeof item === 'string');
  if (!isList || value.length === 0 || value.length > MAX_LANGUAGES) return { ok: false, reason: LANGUAGE_LIST };
  const distinct = new Set<string>();
  for (const [index, item] of value.entries()) {
    const checked = checkLanguage(item.trim());
    if (!checked.ok) return { ok: false, reason: `item ${index + 1} ${checked.reason}` };
    distinct.add(checked.name);
  }
  return { ok: true, names: [...distinct] };
}

/** Whisper's language codes that differ from ISO 639-1. */
const WHISPER_CODES: Readonly<Record<string, string>> = { jv: 'jw' };

/** @param code of ISO 639-1. */
export const whisperCode = (code: string): string => WHISPER_CODES[code] ?? code;
