import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import { ROOT } from '../paths.js';

/** As much of a schema object of OpenAPI as this service's document uses. */
export interface Schema {
  $ref?: string;
  type?: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object' | 'null';
  format?: string;
  enum?: unknown[];
  nullable?: boolean;
  example?: unknown;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  pattern?: string;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  /** Properties of which one at most may be given. */
  not?: { required: string[] };
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema: Schema;
}

interface DescribedResponse {
  headers: Record<string, { schema: Schema; required?: boolean }>;
  content: Record<string, { schema: Schema }>;
}

/** One operation of the document, all references resolved. */
export interface DescribedOperation {
  /** `GET /v1/recordings/{recording_id}` */
  name: string;
  method: string;
  path: string;
  parameters: Parameter[];
  body: { mediaType: string; schema: Schema } | null;
  responses: Record<string, DescribedResponse>;
  scope: string | undefined;
  /** Whether an access token will do by itself. */
  takesToken: boolean;
  /** Whether people who have signed in call it, and nobody else. */
  takesSession: boolean;
}

interface RawOperation {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, Partial<DescribedResponse>>;
  security?: Record<string, unknown>[];
  'x-required-scope'?: string;
  'x-session'?: boolean;
}

export interface ApiDocument {
  paths: Record<string, Record<string, RawOperation>>;
  components: { schemas: Record<string, Schema> };
}

/** Parameters of the path that identify something. */
export const idParameters = ({ parameters }: DescribedOperation): Parameter[] =>
  parameters.filter((parameter) => parameter.in === 'path' && parameter.name.endsWith('_id'));

/** Whether it is text that clients choose: every text that keeps to the schema is right, and it names no row. */
export const isChosenText = ({ schema }: Parameter): boolean => schema.maxLength !== undefined;

/** Whether a URL is all that it takes: its signature stands in the place of credentials. */
export const isSigned = ({ scope }: DescribedOperation): boolean => scope === undefined;

/** The ways to fulfil a schema that takes one of several objects, or forbids properties together; itself when there is one. */
export function waysOf(schema: Schema): Schema[] {
  const { properties, not, oneOf } = schema;
  if (properties && not) {
    const without = (name: string) =>
      Object.fromEntries(Object.entries(properties).filter(([other]) => other !== name));
    return not.required.map((name) => ({ ...schema, not: undefined, properties: without(name) }));
  }
  return oneOf?.every(({ type }) => type === 'object') ? oneOf : [schema];
}

export function readDocument(): ApiDocument {
  return JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')) as ApiDocument;
}

/** A schema of the document by its name, all references resolved. */
export const resolvedSchema = (name: string, document: ApiDocument): Schema =>
  resolve({ $ref: `#/components/schemas/${name}` }, document) as Schema;

/** Whatever the document holds is fuzzed: an operation that is added needs no line here. A WebSocket and sessions have tests of their own. */
export function operationsOf(document: ApiDocument): DescribedOperation[] {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => {
      const resolved = resolve(operation, document) as RawOperation;
      const [content] = Object.entries(resolved.requestBody?.content ?? {});
      return {
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        parameters: resolved.parameters ?? [],
        body: content ? { mediaType: content[0], schema: content[1].schema } : null,
        responses: Object.fromEntries(
          Object.entries(resolved.responses).map(([status, { headers = {}, content: bodies = {} }]) => [
            status,
            { headers, content: bodies },
          ]),
        ),
        scope: resolved['x-required-scope'],
        takesSession: resolved['x-session'] === true,
        takesToken: (resolved.security ?? []).some((way) => Object.keys(way).join() === 'token'),
      };
    }),
  );
  return operations.filter(({ responses, takesSession }) => !responses['101'] && !takesSession);
}

/** None of our schemas holds itself; one that did would be a stack overflow here and not pass unnoticed. */
function resolve(value: unknown, document: ApiDocument): unknown {
  if (Array.isArray(value)) return value.map((item) => resolve(item, document));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref } = value as Schema;
  if (typeof $ref === 'string') {
    const schema = document.components.schemas[$ref.replace('#/components/schemas/', '')];
    if (!schema) throw new Error(`${$ref} is not in the document`);
    return resolve(schema, document);
  }
  return withNullable(Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolve(item, document)])));
}

/** A list of types with null has one more type; the parts of this program ask for `nullable`. */
function withNullable(schema: Record<string, unknown>): Record<string, unknown> {
  const { type, enum: values } = schema;
  if (!Array.isArray(type) || type.length !== 2 || type[1] !== 'null') return schema;
  const rest = Array.isArray(values) ? { enum: values.filter((value) => value !== null) } : {};
  return { ...schema, ...rest, type: type[0] as unknown, nullable: true };
}

/**
 * `ownProperties`: what an object inherits, `constructor` for instance, is not what it holds. `strictRequired`: a branch
 * of `oneOf` may require what is described outside of it.
 */
const ajv = new Ajv({ strict: true, strictRequired: false, allErrors: true, ownProperties: true });
formats.default(ajv);
for (const keyword of ['example', 'discriminator']) ajv.addKeyword(keyword);
ajv.addFormat('binary', true);

const compiled = new WeakMap<Schema, ValidateFunction>();

/** @returns what is wrong with the value, one line each; keys that the schema does not name are wrong, too. */
export function violations(schema: Schema, value: unknown): string[] {
  let validate = compiled.get(schema);
  if (!validate) {
    validate = ajv.compile(closed(schema));
    compiled.set(schema, validate);
  }
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    const extra = (params as { additionalProperty?: string }).additionalProperty;
    return `${instancePath || 'the whole'} ${message ?? 'is wrong'}${extra === undefined ? '' : `: ${extra}`}`;
  });
}

/**
 * The same as JSON Schema, without additional keys: OpenAPI leaves an object open unless it says
 * otherwise, and D3 does not. `nullable` beside `allOf` is meant as generators of clients read it: or null.
 */
function closed({ nullable, allOf, ...schema }: Schema): object {
  if (nullable) return { anyOf: [{ type: 'null' }, closed({ ...schema, allOf })] };
  const whole = (allOf ?? []).reduce(merge, schema);
  const { properties, items, additionalProperties, anyOf, oneOf } = whole;
  return {
    ...whole,
    ...(items && { items: closed(items) }),
    ...(anyOf && { anyOf: anyOf.map(closed) }),
    ...(oneOf && { oneOf: oneOf.map(closed) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, closed(inner)])),
      additionalProperties: false,
    }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === 'object' ? closed(additionalProperties) : additionalProperties,
    }),
  };
}

function merge(one: Schema, other: Schema): Schema {
  return {
    ...one,
    ...other,
    ...((one.properties ?? other.properties) && {
      properties: { ...one.properties, ...other.properties },
      required: [...(one.required ?? []), ...(other.required ?? [])],
    }),
  };
}
