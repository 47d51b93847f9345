import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';
import { type CataloguedKind, type EventKind, eventCatalogue, exampleBody } from './event-catalogue.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['post']>;
type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

/** The classes of bodies, which no handler names. */
export const eventBodyClasses = (): Function[] =>
  eventCatalogue().flatMap(({ schema }) => (typeof schema === 'function' ? [schema] : []));

/** Adds a webhook for each kind that webhooks receive, and the union of the bodies in the feed. */
export function describeEvents(document: OpenAPIObject): void {
  const kinds = eventCatalogue();
  const schemas: Schemas = { ...document.components?.schemas };
  for (const kind of kinds) if (typeof kind.schema !== 'function') schemas[bodyNameOf(kind.kind)] = addedSchema(kind);
  const inFeed = kinds.filter((kind) => kind.inFeed);
  schemas.EventBody = {
    description: 'As webhooks receive it; `event` tells which.',
    oneOf: inFeed.map((kind) => ({ $ref: pathOf(kind) })),
    discriminator: {
      propertyName: 'event',
      mapping: Object.fromEntries(inFeed.map((kind) => [kind.kind, pathOf(kind)])),
    },
    example: exampleBody(inFeed[0]!),
  };
  document.components = { ...document.components, schemas };
  const sent = kinds.filter(({ canSubscribe, inFeed: isStored }) => canSubscribe || !isStored);
  document.webhooks = Object.fromEntries(sent.map((kind) => [kind.kind, { post: webhookOf(kind) }]));
}

/** `KeywordMatchedBody` for `keyword.matched`. */
const bodyNameOf = (kind: string): string =>
  `${kind
    .split(/[^a-z0-9]+/i)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')}Body`;

const pathOf = ({ kind, schema }: EventKind): string =>
  typeof schema === 'function' ? getSchemaPath(schema) : `#/components/schemas/${bodyNameOf(kind)}`;

/** What an extension gives, with the name of the kind. */
function addedSchema({ kind, description, schema }: EventKind): Schemas[string] {
  const { properties, required, ...rest } = { ...(schema as Record<string, unknown> | undefined) };
  return {
    description,
    additionalProperties: schema === undefined,
    ...rest,
    type: 'object',
    required: [...new Set(['event', ...((required as string[] | undefined) ?? [])])],
    properties: { ...(properties as object | undefined), event: { type: 'string', enum: [kind] } },
  };
}

const header = (name: string, description: string, example: string) => ({
  name,
  in: 'header' as const,
  required: true,
  description,
  schema: { type: 'string' as const },
  example,
});

const HEADERS = [
  header(
    'X-Service-Signature',
    '`sha256=` and the hexadecimal HMAC-SHA-256 of the body; the key is the secret of the webhook.',
    `sha256=${'0a'.repeat(32)}`,
  ),
  header(
    'X-Service-Event-Id',
    'Id of the event: the same on every attempt and at every webhook.',
    '019aa5c1-3a77-7d0c-9c1e-52d1f0c6a9e4',
  ),
  header('X-Service-Delivery-Attempt', 'Number of the attempt, from 1.', '1'),
  header('webhook-id', 'The id of the event, for Standard Webhooks.', '019aa5c1-3a77-7d0c-9c1e-52d1f0c6a9e4'),
  header('webhook-timestamp', 'Unix time of the attempt in seconds.', '1795256104'),
  header(
    'webhook-signature',
    '`v1,` and the base64 HMAC-SHA-256 of `{webhook-id}.{webhook-timestamp}.{body}`; two of them while secrets change.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
];

const webhookOf = (kind: CataloguedKind): Operation => ({
  operationId: `webhook.${kind.kind}`,
  summary: kind.kind,
  description: kind.description,
  tags: ['Webhooks'],
  security: [],
  parameters: HEADERS,
  requestBody: {
    required: true,
    content: { 'application/json': { schema: { $ref: pathOf(kind) }, example: exampleBody(kind) } },
  },
  responses: {
    '2XX': { description: 'The event was received. Anything else is retried.' },
    '410': { description: 'The webhook is disabled.' },
  },
});
