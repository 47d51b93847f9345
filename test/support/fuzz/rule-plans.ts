import { type DescribedOperation, idParameters, type Parameter, type Schema, waysOf } from './description.js';
import { type CredentialsKind, type Form, type JsonText, type PathId, type Plan, statesOf } from './plan.js';
import { jsonText, nearMisses } from './values.js';

type Fields = Record<string, unknown>;

/**
 * The examples of the document, and beside them each rule of it broken once and nothing else: chance alone would pass
 * by a rule or another in a run of reasonable length.
 */
export function rulePlans(operation: DescribedOperation): Plan[] {
  const right = examplePlan(operation);
  const changed = (changes: Partial<Plan>[]): Plan[] => changes.map((change) => ({ ...right, ...change }));
  return [
    right,
    ...changed(otherStates(operation).map((ids) => ({ ids }))),
    ...changed(badQueries(operation).map((query) => ({ query }))),
    ...changed(badHeaders(operation).map((headers) => ({ headers }))),
    ...changed(badBodies(operation).map((body) => ({ body }))),
    ...changed(badIds(operation).map((ids) => ({ ids }))),
    ...changed(BAD_CREDENTIALS.map((credentials) => ({ credentials }))),
  ];
}

const BAD_CREDENTIALS: CredentialsKind[] = ['none', 'wrong secret', 'all scopes but the one needed'];

const parametersIn = ({ parameters }: DescribedOperation, place: Parameter['in']): Parameter[] =>
  parameters.filter((parameter) => parameter.in === place);

export function examplePlan(operation: DescribedOperation): Plan {
  const own: PathId = { kind: 'own', state: 0 };
  const ids = Object.fromEntries(idParameters(operation).map(({ name }) => [name, own]));
  const query = parametersIn(operation, 'query')
    .filter(({ required }) => required)
    .map((parameter): [string, string] => [parameter.name, exampleText(parameter)]);
  return { credentials: 'pair', ids, query, headers: {}, body: exampleBody(operation) };
}

/** An operation may have a use for one state of its row alone. */
function otherStates(operation: DescribedOperation): Plan['ids'][] {
  const { ids } = examplePlan(operation);
  return idParameters(operation).flatMap(({ name }) =>
    Array.from({ length: statesOf(name) }, (_, state) => state)
      .slice(1)
      .map((state): Plan['ids'] => ({ ...ids, [name]: { kind: 'own', state } })),
  );
}

function badQueries(operation: DescribedOperation): Plan['query'][] {
  const known = parametersIn(operation, 'query');
  const misses = known.flatMap(({ name, schema }) =>
    nearMisses(schema).map((value): Plan['query'] => [[name, asText(value)]]),
  );
  const twice = known.map((parameter): Plan['query'] => {
    const pair: [string, string] = [parameter.name, exampleText(parameter)];
    return [pair, pair];
  });
  return [[['unknown', '1']], ...misses, ...twice];
}

function badHeaders(operation: DescribedOperation): Plan['headers'][] {
  return parametersIn(operation, 'header').flatMap(({ name, schema }) =>
    nearMisses(schema)
      .map(asText)
      // Others cannot be sent in a header.
      .filter((value) => /^[\x20-\x7e]*$/.test(value))
      .map((value) => ({ [name]: value })),
  );
}

const exampleText = ({ schema }: Parameter): string => asText(schema.example ?? schema.default ?? schema.enum?.[0]);

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function badBodies({ body }: DescribedOperation): (JsonText | Form)[] {
  if (body?.mediaType !== 'application/json') return [];
  const { properties = {} } = body.schema;
  const { required = [] } = waysOf(body.schema)[0] as Schema;
  const right = exampleOf(body.schema);
  const misses = Object.entries(properties).flatMap(([name, schema]) =>
    nearMisses(schema).map((value) => ({ ...right, [name]: value })),
  );
  const without = required.map((name) => Object.fromEntries(Object.entries(right).filter(([key]) => key !== name)));
  return [{ ...right, unknown: 1 }, [right], null, ...without, ...misses].map(json);
}

function badIds(operation: DescribedOperation): Plan['ids'][] {
  const kinds: PathId[] = [{ kind: 'foreign' }, { kind: 'misspelt', way: 'in upper case' }];
  const right = examplePlan(operation).ids;
  return idParameters(operation).flatMap(({ name }) => kinds.map((id) => ({ ...right, [name]: id })));
}

/** What the document gives as an example: it must be taken. */
export function exampleBody({ body }: DescribedOperation): JsonText | Form | null {
  if (!body) return null;
  if (body.mediaType === 'application/json') return json(exampleOf(body.schema));
  const names = body.schema.required ?? [];
  const parts = names.map((name) => ({ name, filename: 'note.wav', content: 'silence' }));
  return { kind: 'form', parts, complete: true, contentType: 'form' };
}

function exampleOf(whole: Schema): Fields {
  const { properties = {} } = waysOf(whole)[0] as Schema;
  const examples = Object.entries(properties).map(([name, schema]) => [
    name,
    schema.example ?? schema.default ?? schema.enum?.[0],
  ]);
  return Object.fromEntries(examples) as Fields;
}

const json = (value: unknown): JsonText => ({ kind: 'json', text: jsonText(value), contentType: 'application/json' });
