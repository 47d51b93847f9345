import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../paths.js';
import { boolean, id, integer, number, oneOf, orNull, text } from './matchers.js';

interface PropertySchema {
  type?: string;
  format?: string;
  nullable?: boolean;
  enum?: readonly string[];
}

interface Document {
  components: { schemas: Record<string, { properties?: Record<string, PropertySchema>; required?: string[] }> };
}

const { schemas } = (JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')) as Document).components;

const TYPES: Record<string, unknown> = { string: text, number, integer, boolean };

/**
 * The shape of a view: exactly the fields that the committed `openapi.json` describes, without the optional ones.
 * `forms` says more about some of them than their type, and must name no other field.
 */
export function shapeOf<View extends object>(
  schema: string,
  forms: Partial<Record<keyof View, unknown>>,
): Record<keyof View, unknown> {
  const { properties: described, required = [] } = schemas[schema] ?? {};
  if (!described) throw new Error(`openapi.json has no schema ${schema}`);
  const unknown = Object.keys(forms).filter((name) => !(name in described));
  if (unknown.length > 0) throw new Error(`${schema} in openapi.json has no ${unknown.join(', ')}`);
  const present = Object.entries(described).filter(([name]) => name in forms || required.includes(name));
  const types = present.map(([name, property]) => [
    name,
    name in forms ? Reflect.get(forms, name) : matcherOf(`${schema}.${name}`, property),
  ]);
  return Object.fromEntries(types) as Record<keyof View, unknown>;
}

function matcherOf(name: string, { type = '', format, nullable, enum: values }: PropertySchema): unknown {
  const matcher = values ? oneOf(...values) : format === 'uuid' ? id : TYPES[type];
  if (!matcher) throw new Error(`${name} needs a form in response-shapes.ts`);
  return nullable ? orNull(matcher) : matcher;
}
