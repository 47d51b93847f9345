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
