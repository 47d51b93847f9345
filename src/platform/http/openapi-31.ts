import type { OpenAPIObject } from '@nestjs/swagger';

type Json = Record<string, unknown>;

/** Keys whose values are data, not schemas. */
const DATA = new Set(['example', 'examples', 'default', 'enum', 'const']);

/** Decorators write schemas of OpenAPI 3.0; those of 3.1 are JSON Schema, in which null is a type. */
export function asOpenApi31(document: OpenAPIObject): OpenAPIObject {
  return { ...(converted(document) as OpenAPIObject), openapi: '3.1.0' };
}

function converted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(converted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, DATA.has(key) ? inner : converted(inner)]);
  return withWholeAlternatives(withNullType(Object.fromEntries(entries) as Json));
}

function withNullType({ nullable, ...schema }: Json): Json {
  if (typeof nullable === 'object') return { nullable, ...schema };
  if (nullable !== true) return schema;
  const { type, enum: values, allOf, oneOf, ...rest } = schema;
  if (Array.isArray(oneOf)) return { ...rest, oneOf: [...(oneOf as unknown[]), { type: 'null' }] };
  if (Array.isArray(allOf)) return { ...rest, oneOf: [...(allOf as unknown[]), { type: 'null' }] };
  if (!Array.isArray(values)) return { ...schema, type: [type, 'null'] };
  if (values.every((item) => item === null)) return { ...rest, type: 'null' };
  return { ...schema, type: [type, 'null'], enum: [...new Set([...(values as unknown[]), null])] };
}

/** An object with `oneOf` beside its properties becomes one object for each alternative, which generators of clients know. */
function withWholeAlternatives(schema: Json): Json {
  const { type, oneOf, properties, required = [], ...rest } = schema;
  if (type !== 'object' || !Array.isArray(oneOf)) return schema;
  const alternatives = oneOf as { required?: string[] }[];
  const choices = new Set(alternatives.flatMap((one) => one.required ?? []));
  const alternative = ({ required: chosen = [] }: { required?: string[] }): Json => ({
    type,
    required: [...(required as string[]), ...chosen],
    properties: Object.fromEntries(
      Object.entries(properties as Json).filter(([name]) => chosen.includes(name) || !choices.has(name)),
    ),
  });
  return { ...rest, oneOf: alternatives.map(alternative) };
}
