// Rules for the description of the API that generators of clients need and Redocly does not have.

/** Names that a language has already, in one of those for which clients are generated. */
const TAKEN = [
  'Error',
  'Event',
  'Exception',
  'Object',
  'Map',
  'Set',
  'List',
  'Date',
  'File',
  'Request',
  'Response',
  'Any',
];

/** @returns {string[]} what is wrong */
export function ruleViolations(document) {
  const { schemas } = document.components;
  return [
    ...(document.openapi.startsWith('3.1.') ? [] : [`openapi must be 3.1, and is ${document.openapi}`]),
    ...TAKEN.filter((name) => name in schemas).map(
      (name) => `no schema may be called ${name}: languages have such a type`,
    ),
    ...schemaViolations(document, ''),
    ...responseViolations(document),
    ...eventViolations(document),
  ];
}

function schemaViolations(value, place) {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value)
    .filter(([key]) => !['example', 'examples', 'default', 'enum'].includes(key))
    .flatMap(([key, item]) => schemaViolations(item, `${place}/${key}`));
  const isSchema = typeof value.type === 'string' || Array.isArray(value.type);
  if (value.oneOf && (isSchema || value.properties)) inner.push(`${place}: oneOf beside type or properties`);
  if (typeof value.nullable === 'boolean') inner.push(`${place}: nullable is not OpenAPI 3.1`);
  return inner;
}

/** A method of a client has one type of answer. */
function responseViolations({ paths }) {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { responses }]) => {
      const schemas = Object.entries(responses)
        .filter(([status]) => status.startsWith('2'))
        .map(([, { content }]) => content?.['application/json']?.schema)
        .filter(Boolean);
      const isOne = new Set(schemas.map((schema) => JSON.stringify(schema))).size <= 1;
      return isOne && !schemas.some(({ oneOf, anyOf }) => oneOf ?? anyOf)
        ? []
        : [`${method} ${path}: more than one answer`];
    }),
  );
}

function eventViolations({ webhooks, components: { schemas } }) {
  const { oneOf, discriminator } = schemas.EventBody;
  const named = new Set(Object.values(discriminator.mapping));
  return [
    ...oneOf.filter(({ $ref }) => !named.has($ref)).map(({ $ref }) => `EventBody: ${$ref} has no kind`),
    ...Object.entries(webhooks)
      .filter(([, { post }]) => !post.requestBody.content['application/json'].schema.$ref)
      .map(([kind]) => `webhook ${kind}: its body has no schema with a name`),
  ];
}
