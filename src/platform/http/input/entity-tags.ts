import { createHash } from 'node:crypto';

/** `*`, or the entity tags of an `If-Match` or `If-None-Match` header, quotation marks and `W/` included. */
export type EntityTags = '*' | string[];

/** RFC 9110 §8.8.3. */
const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
/** For the document, too. */
export const ENTITY_TAGS = String.raw`^(?:\*|${TAG}(?:[ \t]*,[ \t]*${TAG})*)$`;
const HEADER = new RegExp(ENTITY_TAGS);

/** The tag of what is sent in several encodings: weak, since it stands for all of them. */
export function weakEntityTag(content: Buffer): string {
  return `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
}

/** Null for a header that breaks the grammar. */
export function parseEntityTags(header: string): EntityTags | null {
  const list = header.trim();
  if (list === '*') return '*';
  return HEADER.test(list) ? (list.match(new RegExp(TAG, 'g')) ?? []) : null;
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
