import { createHash } from 'node:crypto';

/** JSON with the keys of every object in the order of their UTF-16 units, without spaces: the same value, the same text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (isObject(part) ? sorted(part) : part));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

const sorted = (object: Record<string, unknown>): object =>
  Object.fromEntries(
    Object.keys(object)
      .toSorted()
      .map((key) => [key, object[key]]),
  );

/** In hexadecimal digits. */
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
