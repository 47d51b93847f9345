import type { OpenAPIObject } from '@nestjs/swagger';

export type Operation = NonNullable<OpenAPIObject['paths'][string]['get']> & { 'x-required-scope'?: string };
export type Response = Extract<Operation['responses'][string], { description: string }>;
type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type SchemaOrRef = Schemas[string];

/** Gives each success an example of the whole answer, put together from the examples of its fields. */
export function addSuccessExamples(path: string, { responses }: Operation, { components }: OpenAPIObject): void {
  for (const response of Object.values(responses) as Response[]) {
    const content = response.content?.['application/json'];
    if (!content?.schema || content.examples) continue;
    const generated = exampleOf(content.schema, components?.schemas ?? {});
    // What a handler says of its own answer, such as the status of a new recording, replaces single fields.
    content.example = { ...(generated as object), ...(content.example as object), ...pageUris(path, generated) };
  }
}

/** The fields of pages are shared by all lists; their addresses are not. */
function pageUris(path: string, example: unknown): object {
  const uri = `${path}?page=0&limit=50`;
  return 'first_page_uri' in (example as object) ? { uri, first_page_uri: uri } : {};
}

function exampleOf(schema: SchemaOrRef, schemas: Schemas): unknown {
  if ('$ref' in schema) return exampleOf(schemas[schema.$ref.replace('#/components/schemas/', '')] ?? {}, schemas);
  const { example, enum: values, allOf, type, items, properties = {}, required = [] } = schema;
  if (example !== undefined) return example;
  if (values) return values[0];
  if (allOf) return Object.assign({}, ...allOf.map((part) => exampleOf(part, schemas)));
  if (type === 'array' && items) return [exampleOf(items, schemas)];
  // What only some answers have stands in an example of its own.
  const always = Object.entries(properties).filter(([name]) => required.includes(name));
  return Object.fromEntries(always.map(([name, inner]) => [name, exampleOf(inner, schemas)]));
}
