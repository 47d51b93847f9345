import fc from 'fast-check';
import { type Schema, waysOf } from './description.js';

type Values = fc.Arbitrary<unknown>;

/** Stand for what `JSON.stringify` cannot write; `jsonText` puts it in their place. */
const RAW_JSON: Record<string, string> = {
  '<1e309>': '1e309',
  '<-1e999>': '-1e999',
  '<-0>': '-0',
  '<60.0>': '60.0',
  '<17 levels>': `${'['.repeat(17)}${']'.repeat(17)}`,
  '<5000 levels>': `${'{"a":'.repeat(5000)}0${'}'.repeat(5000)}`,
};

/** JSON of a value in which the stand-ins have become what they stand for. */
export function jsonText(value: unknown): string {
  return Object.entries(RAW_JSON).reduce(
    (text, [standIn, raw]) => text.replaceAll(JSON.stringify(standIn), raw),
    JSON.stringify(value),
  );
}

/** What has broken other programs: storage, comparison, interpolation, logs, objects used as tables. */
const NASTY = [
  ...['', ' ', '\t', '\n', '\0', 'a\0b', '\u007f', '\u0085', '\ud800', 'a\udfffb', '\uffff', '\u2028', '\ufeff'],
  ...['\u200b', '\u202e', 'İ', 'ß', 'e\u0301'.repeat(40), '🎙️', '👩‍👩‍👧‍👦', '𝕏'.repeat(100), '\u{10ffff}', 'ﷺ'.repeat(18)],
  ...['null', 'undefined', 'NaN', 'true', '0', '-1', '1e309', '0x10', '9'.repeat(400), '[object Object]', '{}', '[]'],
  ...["'; DROP TABLE accounts; --", "' OR '1'='1", '<script>alert(1)</script>', '${7*7}', '{{7*7}}', '%s%n', '%00'],
  ...['../../etc/passwd', 'file:///etc/passwd', '\r\nX-Injected: 1', '"', '\\', '\\u0000', '`', '$(id)', '*', '%'],
  ...['2026-02-30', '0000-01-01', '9999-12-31T23:59:59Z', '2030-01-31T12:00:00+99:99', '+275760-09-13T00:00:00Z'],
  ...['http://127.0.0.1:9/', 'http://[::1]/', 'http://0x7f.1/', 'http://169.254.169.254/', 'javascript:alert(1)'],
  ...['http://user:pw@example.com/', 'https://example.com/#x', 'https://example.com:0/', 'https://exa mple.com/'],
];

/** Names that every object has, or that an ORM or a log might stumble over. */
export const UNKNOWN_NAMES = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then', 'toJSON', 'length', ''],
  ...['id', 'tenant_id', 'account_id', 'accountId', 'created_at', 'Name', 'name ', 'a.b', 'a[b]', '$where', '\0', '🎙️'],
];

export const nastyText = (): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...NASTY) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
    { weight: 1, arbitrary: fc.constantFrom(100, 255, 256, 500, 2048, 2049, 5000).map((count) => 'x'.repeat(count)) },
  );

/** Any JSON value, the stranger the better. */
export const strangeValue = (): Values =>
  fc.oneof(
    fc.constantFrom(null, true, false, 0, 1, -1, 1.5, 2 ** 53, -(2 ** 31) - 1, 1e308, 5e-324),
    fc.constantFrom([], {}, [null], [[]], [{}], { toString: 1 }, { toJSON: 1 }, { length: 3 }, { $gt: '' }, ['a', 'a']),
    fc.constantFrom(...Object.keys(RAW_JSON)),
    nastyText(),
    fc.jsonValue({ maxDepth: 2 }),
  );

/** A value that the schema allows; its example the most often, for there are rules that no schema can state. */
export function valueOf(schema: Schema): Values {
  if (schema.nullable) return fc.option(valueOf({ ...schema, nullable: false }), { nil: null, freq: 5 });
  const ways = waysOf(schema);
  if (ways.length > 1) return fc.oneof(...ways.map(valueOf));
  const branches = schema.oneOf ?? schema.anyOf;
  const usual = branches ? fc.oneof(...branches.map(valueOf)) : usualValue(schema);
  const example = schema.example ?? schema.default;
  if (example === undefined || example === null) return usual;
  return fc.oneof({ weight: 2, arbitrary: fc.constant(example) }, { weight: 1, arbitrary: usual });
}

function usualValue(schema: Schema): Values {
  const { type, minimum, maximum, minItems = 0, maxItems, items = {} } = schema;
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (type === 'string') return textOf(schema);
  if (type === 'integer') return fc.integer({ min: minimum, max: maximum });
  if (type === 'number') return fc.double({ min: minimum, max: maximum, noNaN: true, noDefaultInfinity: true });
  if (type === 'boolean') return fc.boolean();
  if (type === 'null') return fc.constant(null);
  if (type === 'array' && items.enum) return fc.shuffledSubarray(items.enum, { minLength: minItems });
  if (type === 'array') return fc.array(valueOf(items), { minLength: minItems, maxLength: maxItems ?? minItems + 3 });
  return objectOf(schema);
}

function textOf({ minLength = 0, maxLength = 200, format, pattern }: Schema): Values {
  if (format === 'date') {
    return fc
      .date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
      .map((day) => day.toISOString().slice(0, 10));
  }
  if (format === 'date-time') {
    return fc
      .date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
      .map((time) => time.toISOString());
  }
  const fits = (text: string): boolean => [...text].length >= minLength && [...text].length <= maxLength;
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, 'u'), { maxLength }).filter(fits);
  return fc.oneof(
    fc.string({ minLength, maxLength: Math.min(maxLength, minLength + 30) }),
    fc.constantFrom(minLength, maxLength).map((count) => 'é'.repeat(count)),
    nastyText().filter(fits),
  );
}

function objectOf({ properties = {}, required = [] }: Schema): Values {
  const model = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueOf(schema)]));
  return fc.record(model, { requiredKeys: required });
}

/** Just outside of what the schema allows, one rule at a time; not always outside, which is for `flawsOf` to say. */
export function nearMisses({ minLength, maxLength, minimum, maximum, items, ...schema }: Schema): unknown[] {
  const misses: unknown[] = [null, {}];
  if (schema.type === 'string') misses.push(7, ['x']);
  if (schema.format === 'date') misses.push('2026-02-30', '2026-1-1', '2026-01-01T00:00:00Z');
  if (schema.pattern !== undefined) misses.push('é', '');
  if (minLength !== undefined && minLength > 0) misses.push('x'.repeat(minLength - 1));
  if (maxLength !== undefined) misses.push('x'.repeat(maxLength + 1), '𝕏'.repeat(maxLength + 1));
  if (minimum !== undefined) misses.push(minimum - 1, minimum + 0.5, String(minimum));
  if (maximum !== undefined) misses.push(maximum + 1, Number.MAX_SAFE_INTEGER);
  for (const branch of schema.oneOf ?? []) misses.push(...nearMisses(branch));
  for (const value of schema.enum ?? []) misses.push(`${String(value)} `, String(value).toUpperCase());
  if (items) misses.push([], [null], [['x']], ['x'], 'x');
  if (items?.enum) misses.push([items.enum[0], items.enum[0]], items.enum[0], [items.enum[0], 'x']);
  return misses;
}

export const nearMiss = (schema: Schema): Values => fc.constantFrom(...nearMisses(schema));
