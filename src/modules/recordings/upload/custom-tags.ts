import { jsonKeys } from '../../../platform/http/input/parse-body.js';

export const MAX_TAGS = 10;
const MAX_KEY_LENGTH = 32;
const MAX_VALUE_LENGTH = 128;
const MAX_JSON_BYTES = 1024;

export type ParsedTags =
  | {
      ok: true;
      /** Compact JSON with the keys in the order sent: stored, measured and shown like this. */
      json: string;
    }
  | { ok: false; /** Names the key and the rule, for the client. */ reason: string };

/** Checks the `custom_tags` field of an upload (D28). */
export function parseCustomTags(text: string): ParsedTags {
  let tags: unknown;
  try {
    tags = JSON.parse(text);
  } catch {
    return { ok: false, reason: 'must be a JSON object, such as {"ticket":"T-1042"}' };
  }
  if (typeof tags !== 'object' || tags === null || Array.isArray(tags)) {
    return { ok: false, reason: 'must be a JSON object, such as {"ticket":"T-1042"}' };
  }
  const keys = topLevelKeys(text);
  if (keys.length > MAX_TAGS)
    return { ok: false, reason: `must have at most ${MAX_TAGS} keys; this has ${keys.length}` };

  const pairs: string[] = [];
  for (const key of keys) {
    const value: unknown = Reflect.get(tags, key);
    const broken = brokenRule(key, value);
    if (broken) return { ok: false, reason: broken };
    pairs.push(`${JSON.stringify(key)}:${JSON.stringify(value)}`);
  }
  const json = `{${pairs.join(',')}}`;
  const bytes = Buffer.byteLength(json);
  if (bytes > MAX_JSON_BYTES) {
    return { ok: false, reason: `must be at most ${MAX_JSON_BYTES} bytes of JSON; this is ${bytes}` };
  }
  return { ok: true, json };
}

/**
 * The stored tags as an object that `JSON.stringify` writes in the stored order. A plain object lists keys such as "1"
 * before all others, so a proxy stands in for it when the order differs.
 */
export function orderedTags(json: string | null): object | null {
  if (json === null) return null;
  if (!INTEGER_KEY.test(json)) return JSON.parse(json) as object;
  // Without a prototype `__proto__` and `constructor` are keys like any other.
  const tags = Object.assign(Object.create(null) as object, JSON.parse(json) as object);
  const keys = topLevelKeys(json);
  if (Object.keys(tags).every((key, i) => key === keys[i])) return tags;
  return new Proxy(tags, { ownKeys: () => keys });
}

/** May also match inside a value, which only costs time. */
const INTEGER_KEY = /"\d+":/;

/** The rule that a filter breaks. One that no recording can match is refused, because it is a mistake. */
export function brokenTagRule(key: string, value: string): string | null {
  const broken = brokenRule(key, value);
  return broken && `names no possible tag: ${broken}`;
}

function brokenRule(key: string, value: unknown): string | null {
  if (key.length === 0) return 'key "" must not be empty';
  // A key may be thousands of characters long: the message shows its beginning.
  const name = JSON.stringify(key.length > MAX_KEY_LENGTH ? `${key.slice(0, MAX_KEY_LENGTH)}…` : key);
  if (codePoints(key) > MAX_KEY_LENGTH) return `key ${name} must be at most ${MAX_KEY_LENGTH} characters`;
  if (!/^[A-Za-z0-9_-]+$/.test(key)) return `key ${name} may only contain A-Z a-z 0-9 _ -`;
  if (typeof value !== 'string') return `value of ${name} must be a string`;
  if (codePoints(value) > MAX_VALUE_LENGTH) return `value of ${name} must be at most ${MAX_VALUE_LENGTH} characters`;
  if (/\p{Cc}/u.test(value)) return `value of ${name} must not contain control characters`;
  // With the `u` flag Cs matches lone surrogates only, which have no UTF-8.
  if (/\p{Cs}/u.test(value)) return `value of ${name} must not contain lone surrogates`;
  return null;
}

/** The keys of the outermost object in the order of the text; a repeated key keeps its first place, as in `JSON.parse`. */
function topLevelKeys(json: string): string[] {
  const keys = new Set<string>();
  for (const { key, object } of jsonKeys(json)) if (object === 1) keys.add(key);
  return [...keys];
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
