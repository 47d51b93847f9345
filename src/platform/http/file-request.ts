import type { IncomingHttpHeaders } from 'node:http';
import { type EntityTags, matchesWeakly, parseEntityTags } from './header-values.js';
import { trimmedEnd } from './input/text-rules.js';
import type { ByteRange } from '../storage/file-system.js';

/** What tells one version of a file from another. The tag is a strong one, quotation marks included. */
export interface Validators {
  entityTag: string;
  lastModified: Date;
}

/** `proceed`: answer as if there were no condition. */
export type ConditionResult = 'proceed' | 'not modified' | 'failed';

/** Evaluates the conditions of a GET or HEAD, in the order of RFC 9110 §13.2.2. */
export function evaluateConditions(headers: IncomingHttpHeaders, file: Validators): ConditionResult {
  const ifMatch = tagsOf(headers['if-match']);
  if (ifMatch) {
    if (ifMatch !== '*' && !ifMatch.includes(file.entityTag)) return 'failed';
  } else {
    const unmodifiedSince = parseHttpDate(headers['if-unmodified-since']);
    if (unmodifiedSince !== null && seconds(file.lastModified) > unmodifiedSince) return 'failed';
  }
  const ifNoneMatch = tagsOf(headers['if-none-match']);
  if (ifNoneMatch) return matchesWeakly(ifNoneMatch, file.entityTag) ? 'not modified' : 'proceed';
  const modifiedSince = parseHttpDate(headers['if-modified-since']);
  return modifiedSince !== null && seconds(file.lastModified) <= modifiedSince ? 'not modified' : 'proceed';
}

/**
 * Whether `If-Range` lets a range be sent; otherwise the whole file is. Tags are compared strongly. A date must be exactly
 * that of the file, which is a strong validator here because the file never changes (§13.1.5).
 */
export function allowsRange(ifRange: string | undefined, file: Validators): boolean {
  if (ifRange === undefined) return true;
  if (ifRange.trim() === file.entityTag) return true;
  return parseHttpDate(ifRange) === seconds(file.lastModified);
}

const tagsOf = (header: string | undefined): EntityTags | null =>
  header === undefined ? null : parseEntityTags(header);

const seconds = (date: Date): number => Math.floor(date.getTime() / 1000);

const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const TIME = String.raw`\d\d:\d\d:\d\d`;
const IMF_FIXDATE = new RegExp(`^${DAY}, \\d\\d ${MONTH} \\d{4} ${TIME} GMT$`);
const RFC_850 = new RegExp(`^(?:${DAY}|Tues|Wednes|Thurs|Satur)(?:day)?, \\d\\d-${MONTH}-\\d\\d ${TIME} GMT$`);
const ASCTIME = new RegExp(`^${DAY} ${MONTH} [ \\d]\\d ${TIME} \\d{4}$`);

/** The three forms of RFC 9110 §5.6.7. @returns seconds since 1970; null for any other text, which is to be ignored. */
export function parseHttpDate(text: string | undefined): number | null {
  const date = text?.trim() ?? '';
  const isKnown = IMF_FIXDATE.test(date) || RFC_850.test(date);
  if (!isKnown && !ASCTIME.test(date)) return null;
  const time = Date.parse(isKnown ? date : `${date} GMT`);
  return Number.isNaN(time) ? null : time / 1000;
}

/** More in one request are not served: the whole file is (RFC 9110 §14.2 allows it). */
export const MAX_RANGES = 16;

/** First and last position, or the length of a suffix. */
const RANGE_SPEC = /^(?:(\d+)-(\d*)|-(\d+))$/;

/**
 * The ranges that a `Range` header asks for, in the order asked, those that overlap or touch as one (RFC 9110 §14). Not
 * the package range-parser: it refuses a suffix that is longer than the file, and takes malformed numbers.
 * @returns empty when no range lies within the file: 416. Null when the header must or may be ignored: another unit, a
 *   broken grammar, too many ranges.
 */
export function parseByteRanges(header: string, size: number): ByteRange[] | null {
  const [, set] = /^bytes=(.*)$/i.exec(header.trim()) ?? [];
  if (set === undefined) return null;
  const specs = set.split(',').flatMap((element) => trimmedEnd(element, /[ \t]/).replace(/^[ \t]+/, '') || []);
  if (specs.length === 0 || specs.length > MAX_RANGES) return null;
  let ranges: ByteRange[] = [];
  for (const spec of specs) {
    const range = rangeOf(spec, size);
    if (range === 'invalid') return null;
    if (range !== 'unsatisfiable') ranges = merged(ranges, range);
  }
  return ranges;
}

function rangeOf(spec: string, size: number): ByteRange | 'unsatisfiable' | 'invalid' {
  const [, first, last, suffix] = RANGE_SPEC.exec(spec) ?? [];
  if (suffix !== undefined) return suffixOf(Number(suffix), size);
  if (first === undefined) return 'invalid';
  // Positions may have any number of digits.
  if (last && BigInt(last) < BigInt(first)) return 'invalid';
  const start = Number(first);
  if (start >= size) return 'unsatisfiable';
  return { start, end: last ? Math.min(Number(last), size - 1) : size - 1 };
}

function suffixOf(length: number, size: number): ByteRange | 'unsatisfiable' {
  return length === 0 || size === 0 ? 'unsatisfiable' : { start: Math.max(0, size - length), end: size - 1 };
}

/** The merged range takes the place of the first of those that it consists of. */
function merged(ranges: readonly ByteRange[], added: ByteRange): ByteRange[] {
  const touching = ranges.filter(({ start, end }) => added.start <= end + 1 && start <= added.end + 1);
  const [place] = touching;
  if (!place) return [...ranges, added];
  const all = [added, ...touching];
  const union = { start: Math.min(...all.map(({ start }) => start)), end: Math.max(...all.map(({ end }) => end)) };
  return ranges.flatMap((range) => {
    if (range === place) return union;
    return touching.includes(range) ? [] : range;
  });
}
