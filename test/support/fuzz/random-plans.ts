import fc from 'fast-check';
import { type DescribedOperation, idParameters, type Parameter, type Schema } from './description.js';
import {
  AUDIO_NAMES,
  type CredentialsKind,
  DAMAGED_NAMES,
  type Form,
  type FormPart,
  type JsonText,
  type Misspelling,
  MISSPELLINGS,
  type PathId,
  type Plan,
  REFUSED_NAMES,
} from './plan.js';
import { examplePlan } from './rule-plans.js';
import { jsonText, nastyText, nearMiss, strangeValue, UNKNOWN_NAMES, valueOf } from './values.js';

/** What a plan is made of; the one that is `bad` is made to break the document, the others to keep to it. */
type Concern = 'nothing' | 'credentials' | 'ids' | 'query' | 'headers' | 'body';

/** About half of the requests are as documented; of the others each has, as a rule, one thing wrong with it. */
export function plansFor(operation: DescribedOperation): fc.Arbitrary<Plan> {
  const has = (place: Parameter['in']): boolean => operation.parameters.some((parameter) => parameter.in === place);
  const concerns: { weight: number; arbitrary: fc.Arbitrary<Plan> }[] = [
    { weight: 10, arbitrary: planWith(operation, 'nothing') },
    { weight: 1, arbitrary: planWith(operation, 'credentials') },
    { weight: has('query') ? 8 : 1, arbitrary: planWith(operation, 'query') },
  ];
  if (idParameters(operation).length > 0) concerns.push({ weight: 8, arbitrary: planWith(operation, 'ids') });
  if (has('header')) concerns.push({ weight: 1, arbitrary: planWith(operation, 'headers') });
  concerns.push({ weight: operation.body ? 10 : 1, arbitrary: planWith(operation, 'body') });
  return fc.oneof(...concerns);
}

function planWith(operation: DescribedOperation, bad: Concern): fc.Arbitrary<Plan> {
  // What breaks a rule that no schema can state would be refused before the rows are looked for.
  const example = bad === 'ids' ? examplePlan(operation) : null;
  return fc.record({
    credentials: bad === 'credentials' ? badCredentials(operation) : goodCredentials(operation),
    ids: pathIds(operation, bad === 'ids'),
    query: example ? fc.constant(example.query) : query(operation, bad === 'query'),
    headers: headers(operation, bad === 'headers'),
    body: example ? fc.constant(example.body) : body(operation, bad === 'body'),
  });
}

const goodCredentials = ({ takesToken }: DescribedOperation): fc.Arbitrary<CredentialsKind> =>
  takesToken ? fc.constantFrom('pair', 'pair', 'token') : fc.constant('pair');

function badCredentials({ takesToken }: DescribedOperation): fc.Arbitrary<CredentialsKind> {
  const kinds: CredentialsKind[] = ['none', 'wrong secret', 'all scopes but the one needed'];
  return fc.constantFrom(...kinds, ...(takesToken ? [] : (['token'] as const)));
}

function pathIds(operation: DescribedOperation, bad: boolean): fc.Arbitrary<Plan['ids']> {
  const own = fc.record({ kind: fc.constant('own' as const), state: fc.nat({ max: 5 }) });
  const names = idParameters(operation).map(({ name }) => name);
  return fc.record(Object.fromEntries(names.map((name) => [name, bad ? badId() : own])));
}

function badId(): fc.Arbitrary<PathId> {
  const encoded = fc.oneof(
    nastyText()
      .map((text) => encodeURIComponent(text.toWellFormed()))
      // Without its last part the path is that of the collection.
      .filter((text) => text !== ''),
    fc.constantFrom('%ff', '%', '%zz', '%c0%af', '%2e%2e', '..%2f..', 'a%2Fb', '%252e', "'", ';x=1', 'null', '0'),
    fc.uuid({ version: 4 }),
    fc.constantFrom('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '1'.repeat(3000)),
  );
  const way = fc.constantFrom(...(Object.keys(MISSPELLINGS) as Misspelling[]));
  return fc.oneof(
    fc.constant({ kind: 'foreign' as const }),
    way.map((chosen) => ({ kind: 'misspelt' as const, way: chosen })),
    encoded.map((text) => ({ kind: 'nonsense' as const, encoded: text })),
  );
}

function query({ parameters }: DescribedOperation, bad: boolean): fc.Arbitrary<Plan['query']> {
  const known = parameters.filter((parameter) => parameter.in === 'query');
  const right = fc
    .tuple(...known.map((parameter) => (parameter.required ? right1(parameter) : fc.option(right1(parameter)))))
    .map((pairs) => pairs.filter((pair) => pair !== null));
  if (!bad) return right;
  const text = sendableText();
  const unknown = fc.oneof(
    fc.constantFrom(...UNKNOWN_NAMES),
    fc.constantFrom(...known.flatMap(({ name }) => [`${name}[]`, `${name}[a]`, `${name}s`, name.toUpperCase()]), 'x'),
  );
  const mistakes = [fc.tuple(unknown, text).map((pair) => [pair])];
  for (const parameter of known) {
    const { name, schema } = parameter;
    const miss = fc.oneof(
      nearMiss(schema).map((value) => (typeof value === 'string' ? value : JSON.stringify(value))),
      text,
    );
    mistakes.push(miss.map((value) => [[name, value]]));
    mistakes.push(fc.tuple(right1(parameter), right1(parameter)));
  }
  // A mistake takes the place of the right value, or the parameter would come twice and be wrong for that.
  return fc.tuple(right, fc.oneof(...mistakes)).map(([pairs, mistake]) => {
    const names = new Set(mistake.map(([name]) => name));
    return [...pairs.filter(([name]) => !names.has(name)), ...mistake];
  });
}

const right1 = ({ name, schema }: Parameter): fc.Arbitrary<[string, string]> =>
  valueOf(schema).map((value) => [name, String(value).toWellFormed()]);

function headers({ parameters }: DescribedOperation, bad: boolean): fc.Arbitrary<Plan['headers']> {
  const known = parameters.filter((parameter) => parameter.in === 'header');
  const model = known.map(({ name, schema }) => {
    const miss = fc.oneof(nearMiss(schema), nastyText(), fc.constantFrom('\u00e9', 'a\tb')).map(String);
    return [name, (bad ? miss : valueOf(schema).map(String)).map(sendable)] as const;
  });
  const requiredKeys = known.filter(({ required }) => bad || required).map(({ name }) => name);
  return fc.record(Object.fromEntries(model), { requiredKeys });
}

/** What a header can carry at all: the client refuses to send the rest. */
const sendable = (text: string): string => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?');

function body({ body: described }: DescribedOperation, bad: boolean): fc.Arbitrary<Plan['body']> {
  // Nobody has asked for one: it must do no harm.
  if (!described) return bad ? jsonBodies({ type: 'object' }, true) : fc.constant(null);
  const { mediaType, schema } = described;
  return mediaType === 'multipart/form-data' ? forms(schema, bad) : jsonBodies(schema, bad);
}

/** Forms and URLs are UTF-8, which has no lone surrogates. */
const sendableText = (): fc.Arbitrary<string> => nastyText().map((value) => value.toWellFormed());

function forms(schema: Schema, bad: boolean): fc.Arbitrary<Form> {
  const right = rightParts(schema);
  if (!bad) return right.map((parts) => ({ kind: 'form', parts, complete: true, contentType: 'form' }));
  return fc.oneof(
    { weight: 6, arbitrary: badParts(schema, right).map((parts) => whole(parts)) },
    { weight: 1, arbitrary: right.map((parts) => ({ ...whole(parts), complete: false })) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(right, fc.constantFrom('json' as const, 'without boundary' as const))
        .map(([parts, contentType]) => ({ ...whole(parts), contentType })),
    },
  );
}

const whole = (parts: FormPart[]): Form => ({ kind: 'form', parts, complete: true, contentType: 'form' });

function rightParts({ properties = {}, required = [] }: Schema): fc.Arbitrary<FormPart[]> {
  const parts = Object.entries(properties).map(([name, schema]) => {
    const part = rightPart(name, schema);
    return required.includes(name) ? part : fc.option(part, { freq: 2 });
  });
  return fc
    .tuple(...parts)
    .chain((some) => fc.shuffledSubarray(some, { minLength: some.length }))
    .map((some) => some.filter((part) => part !== null));
}

function rightPart(name: string, schema: Schema): fc.Arbitrary<FormPart> {
  if (schema.format !== 'binary') {
    return valueOf(schema).map((value) => ({ name, content: String(value).toWellFormed() }));
  }
  const content = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...AUDIO_NAMES) },
    { weight: 1, arbitrary: fc.constantFrom(...DAMAGED_NAMES) },
  );
  const filename = fc.oneof(fc.constant('note.wav'), sendableText());
  return fc.record({ name: fc.constant(name), filename, content });
}

function badParts({ properties = {} }: Schema, right: fc.Arbitrary<FormPart[]>): fc.Arbitrary<FormPart[]> {
  const mistakes: fc.Arbitrary<FormPart[]>[] = [
    fc
      .tuple(right, fc.constantFrom(...UNKNOWN_NAMES), sendableText())
      .map(([parts, name, content]) => [{ name, content }, ...parts]),
    fc
      .tuple(right, fc.constantFrom(...UNKNOWN_NAMES))
      .map(([parts, name]) => [...parts, { name, filename: 'a.wav', content: 'silence' }]),
    right.chain((parts) => fc.subarray(parts, { maxLength: parts.length - 1 })),
    right.map((parts) => [...parts, ...parts]),
    fc.constant(Array.from({ length: 200 }, () => ({ name: 'language', content: 'english' }))),
  ];
  for (const [name, { format }] of Object.entries(properties)) {
    const isBinary = format === 'binary';
    const wrong: fc.Arbitrary<FormPart> = isBinary
      ? fc.oneof(
          fc.constantFrom(...REFUSED_NAMES).map((content) => ({ name, filename: 'note.wav', content })),
          sendableText().map((content) => ({ name, content })),
        )
      : fc.oneof(
          fc.constant({ name, filename: 'a.wav', content: 'silence' }),
          fc.oneof(sendableText(), fc.json()).map((content) => ({ name, content })),
        );
    mistakes.push(
      fc.tuple(right, wrong).map(([parts, part]) => [...parts.filter((other) => other.name !== name), part]),
    );
  }
  return fc.oneof(...mistakes);
}

type Fields = Record<string, unknown>;

const NO_JSON = [
  ...['', ' ', '{', '}', '{"', '{"name":', '{"name":}', "{'name':'a'}", '{name:"a"}', '{"a":1,}', '[1,', 'nul', 'NaN'],
  ...['{"a":01}', '{"a":"\t"}', '{"a":"\\x"}', '\ufeff{}', '{}{}', '// a\n{}', 'a=1&b=2', '<a/>', '{"a":Infinity}'],
  ...['['.repeat(10_000), '{"a":'.repeat(10_000), `"${'x'.repeat(200_000)}"`],
];
const OTHER_TYPES = [null, 'text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'x', 'application/'];

function jsonBodies(schema: Schema, bad: boolean): fc.Arbitrary<JsonText> {
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
