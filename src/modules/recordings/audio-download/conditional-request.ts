import type { IncomingHttpHeaders } from 'node:http';
import { type EntityTags, matchesWeakly, parseEntityTags } from '../../../platform/http/header-values.js';

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
