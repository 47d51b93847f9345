import { hash } from 'node:crypto';
import { InvalidRequestError } from '../errors/errors.js';

/** `*`, or the entity tags of an `If-Match` or `If-None-Match` header, quotation marks and `W/` included. */
export type EntityTags = '*' | string[];

/** RFC 9110 §8.8.3. */
const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
/** For the document, too. */
export const ENTITY_TAGS = String.raw`^(?:\*|${TAG}(?:[ \t]*,[ \t]*${TAG})*)$`;
const HEADER = new RegExp(ENTITY_TAGS);

/** The tag of what is sent in several encodings: weak, since it stands for all of them. */
export function weakEntityTag(content: Buffer): string {
  return `W/"${hash('sha256', content, 'base64url').slice(0, 22)}"`;
}

/** Null for a header that breaks the grammar. */
export function parseEntityTags(header: string): EntityTags | null {
  const list = header.trim();
  if (list === '*') return '*';
  return HEADER.test(list) ? (list.match(new RegExp(TAG, 'g')) ?? []) : null;
}

/** An `If-Match` header; null without one. @throws InvalidRequestError */
export function readIfMatch(header: string | undefined): EntityTags | null {
  const tags = header === undefined ? null : parseEntityTags(header);
  if (tags !== null || header === undefined) return tags;
  const reason = 'must be * or the value of an ETag header, with its quotation marks';
  throw new InvalidRequestError({ field: 'If-Match', reason });
}

/** The comparison of `If-None-Match`: a weak tag is as good as a strong one. */
export function matchesWeakly(tags: EntityTags, tag: string): boolean {
  return tags === '*' || tags.some((other) => other.replace(/^W\//, '') === tag);
}

/** Whether a client that sends this `If-None-Match` has what the tag is of. A header that breaks the grammar is ignored. */
export function isUnchanged(ifNoneMatch: string | undefined, tag: string): boolean {
  const tags = parseEntityTags(ifNoneMatch ?? '');
  return tags !== null && matchesWeakly(tags, tag);
}

/** The only HTTP date that senders may still produce (RFC 9110 §5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The wait that a `Retry-After` header asks for, in milliseconds: a number of seconds or an HTTP date (RFC 9110
 * §10.2.3). Null for any other value; 0 for a date in the past.
 */
export function parseRetryAfter(header: string | null | undefined, now = new Date()): number | null {
  const value = header?.trim() ?? '';
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  if (!HTTP_DATE.test(value)) return null;
  const ms = Date.parse(value) - now.getTime();
  return Number.isNaN(ms) ? null : Math.max(ms, 0);
}
