import { Ajv, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import type { Schema } from './description.js';

/**
 * `ownProperties`: what an object inherits, `constructor` for instance, is not what it holds. `strictRequired`: a branch
 * of `oneOf` may require what is described outside of it.
 */
const ajv = new Ajv({ strict: true, strictRequired: false, allErrors: true, ownProperties: true });
formats.default(ajv);
ajv.addKeyword('example');
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
    properties: { ...one.properties, ...other.properties },
    required: [...(one.required ?? []), ...(other.required ?? [])],
  };
}
