import fc from 'fast-check';
import type { Schema } from './description.js';
import type { JsonText } from './plan.js';
import { jsonText, nastyText, nearMiss, strangeValue, UNKNOWN_NAMES, valueOf } from './values.js';

type Fields = Record<string, unknown>;

const NO_JSON = [
  ...['', ' ', '{', '}', '{"', '{"name":', '{"name":}', "{'name':'a'}", '{name:"a"}', '{"a":1,}', '[1,', 'nul', 'NaN'],
  ...['{"a":01}', '{"a":"\t"}', '{"a":"\\x"}', '\ufeff{}', '{}{}', '// a\n{}', 'a=1&b=2', '<a/>', '{"a":Infinity}'],
  ...['['.repeat(10_000), '{"a":'.repeat(10_000), `"${'x'.repeat(200_000)}"`],
];
const OTHER_TYPES = [null, 'text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'x', 'application/'];

export function jsonBodies(schema: Schema, bad: boolean): fc.Arbitrary<JsonText> {
  const right = valueOf(schema) as fc.Arbitrary<Fields>;
  return bad ? badBodies(schema, right) : right.map(json);
}

function badBodies(schema: Schema, right: fc.Arbitrary<Fields>): fc.Arbitrary<JsonText> {
  const properties = Object.entries(schema.properties ?? {});
  const mistakes: fc.Arbitrary<unknown>[] = [
    strangeValue(),
    fc
      .tuple(right, fc.constantFrom(...UNKNOWN_NAMES), strangeValue())
      .map(([fields, name, value]) => add(fields, name, value)),
  ];
  for (const [name, property] of properties) {
    const value = fc.oneof({ weight: 2, arbitrary: nearMiss(property) }, { weight: 1, arbitrary: strangeValue() });
    mistakes.push(fc.tuple(right, value).map(([fields, wrong]) => add(fields, name, wrong)));
  }
  for (const name of schema.required ?? []) {
    mistakes.push(right.map((fields) => Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name))));
  }
  const texts = fc.oneof(
    fc.constantFrom(...NO_JSON),
    nastyText().map((text) => text.toWellFormed()),
  );
  return fc.oneof(
    { weight: 8, arbitrary: fc.oneof(...mistakes).map(json) },
    { weight: 1, arbitrary: texts.map((text) => ({ ...json({}), text })) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(right, fc.constantFrom(...OTHER_TYPES))
        .map(([fields, contentType]) => ({ ...json(fields), contentType })),
    },
  );
}

/** `fromEntries` makes a property of `__proto__`, as `JSON.parse` does. */
const add = (fields: Fields, name: string, value: unknown): Fields =>
  Object.fromEntries([...Object.entries(fields), [name, value]]);

const json = (value: unknown): JsonText => ({ kind: 'json', text: jsonText(value), contentType: 'application/json' });
