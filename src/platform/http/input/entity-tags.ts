/** `*`, or the entity tags of an `If-Match` or `If-None-Match` header, quotation marks and `W/` included. */
export type EntityTags = '*' | string[];

/** RFC 9110 §8.8.3. */
const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"`;
/** For the document, too. */
export const ENTITY_TAGS = String.raw`^(?:\*|${TAG}(?:[ \t]*,[ \t]*${TAG})*)$`;
const HEADER = new RegExp(ENTITY_TAGS);

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
