/** What a body says, or what is wrong with it. */
export type ParsedBody = { body: object; problem: null } | { problem: string };

export const NOT_JSON = 'The body is not valid JSON in UTF-8.';
/** Deeper than any body of ours. The bound keeps recursive code after this point safe. */
const MAX_DEPTH = 16;
/** Of a large body. No operation has a tenth of them. */
const MAX_FIELDS = 1000;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a JSON object. Of several keys of one name JSON.parse takes the last, so that they are refused. */
export function parseBody(bytes: Uint8Array): ParsedBody {
  let text: string;
  let body: unknown;
  try {
    text = utf8.decode(bytes);
    body = JSON.parse(text);
  } catch {
    return { problem: NOT_JSON };
  }
  const duplicate = duplicateKey(text);
  if (duplicate !== null) {
    return { problem: `The body has the key ${JSON.stringify(duplicate.slice(0, 100))} twice.` };
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return { problem: 'The body must be a JSON object.' };
  }
  if (isDeeperThan(body, MAX_DEPTH)) {
    return { problem: `The body must not be nested deeper than ${MAX_DEPTH} levels.` };
  }
  return { body, problem: null };
}

/** A function for threads. Lists and objects in the body become their JSON text: to copy 50,000 words takes too long. */
export function parseLargeBody(bytes: Uint8Array): ParsedBody {
  const parsed = parseBody(bytes);
  if (parsed.problem !== null) return parsed;
  const fields = Object.entries(parsed.body);
  if (fields.length > MAX_FIELDS) return { problem: `The body must not have more than ${MAX_FIELDS} fields.` };
  const asText = (value: unknown): unknown =>
    typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
  return { body: Object.fromEntries(fields.map(([name, value]) => [name, asText(value)])), problem: null };
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}

/** A key of a JSON object, with a number that tells the objects of one text apart; the outermost value has 1. */
export interface JsonKey {
  key: string;
  object: number;
}

const TOKEN = /("(?:[^"\\]|\\.)*")\s*(:)?|[{}[\]]/g;

/**
 * The keys of every object in a JSON text, in the order of the text, repeated ones included: `JSON.parse` keeps neither.
 * @param json must be valid JSON: then each bracket outside a string is structure, and each string before a colon a key.
 */
export function* jsonKeys(json: string): Generator<JsonKey> {
  const open: number[] = [];
  let objects = 0;
  for (const [token, string, colon] of json.matchAll(TOKEN)) {
    if (token === '{' || token === '[') open.push(++objects);
    else if (string === undefined) open.pop();
    else if (colon) yield { key: JSON.parse(string) as string, object: open.at(-1) ?? 0 };
  }
}

/** The first key that an object in the text has twice, or null. */
export function duplicateKey(json: string): string | null {
  const seen = new Set<string>();
  for (const { key, object } of jsonKeys(json)) {
    const id = `${object} ${key}`;
    if (seen.has(id)) return key;
    seen.add(id);
  }
  return null;
}
