import { applyDecorators } from '@nestjs/common';
import { ApiExtension, ApiResponse, type OpenAPIObject } from '@nestjs/swagger';
import { errorBody, type ErrorShape, errorShapeOf } from '../errors/error-body.js';
import {
  AccountSuspendedError,
  AddressNotAllowedError,
  type ApiError,
  AuthenticationError,
  InternalError,
  InvalidRequestError,
  MalformedRequestError,
  PayloadTooLargeError,
  PermissionError,
  RateLimitError,
  RequestTimeoutError,
  ServiceUnavailableError,
} from '../errors/errors.js';
import { JSON_BODY_BYTES } from './input/json-body.js';

/**
 * Documents the errors that one handler can answer with, each by an example. Those that many operations share, such as
 * 401 and 429, are added in one place (openapi-common.ts).
 */
export function ApiErrors(...errors: ApiError[]): MethodDecorator {
  return describeErrors(errors, null);
}

/** As {@link ApiErrors}, for an operation whose errors have a shape of their own. */
export function ApiErrorsIn(shape: ErrorShape, ...errors: ApiError[]): MethodDecorator {
  return describeErrors(errors, shape);
}

function describeErrors(errors: ApiError[], shape: ErrorShape | null): MethodDecorator {
  const statuses = [...new Set(errors.map(({ status }) => status))];
  return applyDecorators(
    ...statuses.map((status) => {
      const examples = errorExamples(
        errors.filter((error) => error.status === status),
        shape,
      );
      return ApiResponse({ status, content: { 'application/json': { schema: schemaRefOf(shape), examples } } });
    }),
  );
}

/** @param shape null: the one of all other operations. */
const schemaRefOf = (shape: ErrorShape | null): { $ref: string } => ({
  $ref: `#/components/schemas/${shape?.schemaName ?? 'ErrorResponse'}`,
});

/** Named by their types, or by their codes where these are names; the second of a type gets a number. */
function errorExamples(errors: ApiError[], shape: ErrorShape | null): Record<string, { value: object }> {
  const examples: Record<string, { value: object }> = {};
  for (const error of errors) {
    const name = typeof error.code === 'string' ? error.code : error.type;
    examples[name in examples ? `${name}${Object.keys(examples).length + 1}` : name] = {
      value: shape ? shape.body(error) : errorBody(error),
    };
  }
  return examples;
}

/** Documents the JSON that a handler takes in place of its form: Nest gives all types of content the same schema. */
export const ApiJsonBody = (schema: object): MethodDecorator => ApiExtension(JSON_BODY, schema);

const JSON_BODY = 'x-json-body';

/** Puts what {@link ApiJsonBody} describes in its place. */
function addJsonBody(operation: Operation): void {
  const { [JSON_BODY]: schema, requestBody } = operation;
  if (!schema || !requestBody || !('content' in requestBody)) return;
  requestBody.content['application/json'] = { schema };
  delete operation[JSON_BODY];
}

type HeaderType = 'integer' | 'string';
type Header = { description: string; required: boolean; schema: { type: HeaderType } };

/** The envelope of every error; on 429 it also has `success: false`. */
const ERROR_SCHEMA = {
  type: 'object' as const,
  required: ['error'],
  properties: {
    success: { type: 'boolean' as const, enum: [false], description: 'Only on 429.' },
    error: {
      type: 'object' as const,
      required: ['code', 'message', 'type', 'details'],
      properties: {
        code: {
          oneOf: [{ type: 'integer' as const }, { type: 'string' as const }],
          description: 'Identifies the error for programs.',
        },
        message: { type: 'string' as const, description: 'Explains the error to people; its wording may change.' },
        type: { type: 'string' as const, description: 'Names the error.' },
        details: {
          type: 'object' as const,
          additionalProperties: true,
          description: 'Facts about the error, such as the field that is wrong. The keys depend on the type.',
        },
      },
    },
  },
};

const always = (type: HeaderType, description: string): Header => ({ description, required: true, schema: { type } });

const EVERYWHERE: Record<string, Header> = {
  'X-RateLimit-Limit': always('integer', 'Requests a minute that the plan allows.'),
  'X-RateLimit-Remaining': always('integer', 'Requests left before the burst is used.'),
  'X-RateLimit-Reset': always('integer', 'Unix time in seconds at which the full limit is available again.'),
  'X-Request-Id': always('string', 'Identifies the request in the logs of the service.'),
};
/** Sent beside the handlers, without the limit headers (D6). */
const UNPARSED = { 'X-Request-Id': EVERYWHERE['X-Request-Id'] as Header };
const SCOPES: Header = {
  description: 'Scopes of the API key, such as `recordings:read, webhooks:read`. Not sent to access tokens.',
  required: false,
  schema: { type: 'string' },
};
const RETRY_AFTER = always('integer', 'Seconds to wait before the next attempt.');

const STATUS_TEXT: Record<string, string> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No content',
  304: 'Not modified',
};

/** For `not`: several properties at once, each of which may be given alone. */
export const together = (...names: string[]) => ({
  required: names,
  properties: Object.fromEntries(names.map((name) => [name, {}])),
});

/** Adds what operations have in common: the headers, the errors that many can answer with, and an example of success. */
export function documentCommon(document: OpenAPIObject): OpenAPIObject {
  document.components = { ...document.components };
  document.components.schemas = { ...document.components.schemas, ErrorResponse: ERROR_SCHEMA };
  for (const [path, item] of Object.entries(document.paths)) {
    const shape = errorShapeOf(path);
    if (shape) Object.assign(document.components.schemas, { [shape.schemaName]: shape.schema });
    for (const operation of [item.get, item.post, item.put, item.patch, item.delete] as (Operation | undefined)[]) {
      if (!operation) continue;
      if (operation['x-session']) operation.security = [{ session: [] }];
      // Open to anyone who knows its URL, or who has what its body names.
      else if (operation['x-required-scope'] === undefined) operation.security = [];
      addJsonBody(operation);
      addSuccessExamples(path, operation, document);
      for (const error of commonErrors(path, operation)) addError(operation, error, shape);
      for (const [status, response] of Object.entries(operation.responses) as [string, Response][]) {
        response.description ||= STATUS_TEXT[status] ?? errorNames(response);
        const common = status === '408' ? UNPARSED : EVERYWHERE;
        response.headers = {
          ...common,
          ...scopesHeader(operation, status),
          ...retryHeader(status),
          ...response.headers,
        };
      }
    }
  }
  return document;
}

/** Where the credentials of an API key were read before this status. */
const scopesHeader = (operation: Operation, status: string): Record<string, Header> =>
  operation['x-required-scope'] === undefined || status === '401' || status === '408'
    ? {}
    : { 'X-Service-Scopes': SCOPES };

/** The handler's own example of an error is kept. */
function addError({ responses }: Operation, error: ApiError, shape: ErrorShape | null): void {
  responses[error.status] ??= { description: '', content: { 'application/json': { schema: schemaRefOf(shape) } } };
  const content = (responses[error.status] as Response).content?.['application/json'];
  if (content) content.examples = { ...errorExamples([error], shape), ...content.examples };
}

/** `ConflictError`, or several such names. */
function errorNames({ content }: Response): string {
  const examples = Object.values(content?.['application/json']?.examples ?? {}) as { value: unknown }[];
  const types = examples.map(({ value }) => (value as { error: { type: string } }).error.type);
  return [...new Set(types)].map((type) => `\`${type}\``).join(' or ');
}

const retryHeader = (status: string): Record<string, Header> =>
  status === '429' || status === '503' ? { 'Retry-After': RETRY_AFTER } : {};

function commonErrors(path: string, operation: Operation): ApiError[] {
  const { parameters = [], requestBody, 'x-required-scope': scope } = operation;
  const isList = parameters.some((parameter) => 'name' in parameter && parameter.name === 'limit');
  const field = isList ? 'limit' : 'limt';
  const reason = isList ? 'must be an integer from 1 to 100' : 'is not a parameter of this operation';
  const takesJson = requestBody && 'content' in requestBody && 'application/json' in requestBody.content;
  return [
    new InvalidRequestError({ field, reason }),
    ...(path.includes('{') ? [new MalformedRequestError('The URL has a malformed percent-encoding.')] : []),
    ...(takesJson ? [new MalformedRequestError('The body is not valid JSON in UTF-8.')] : []),
    ...(takesJson ? [new PayloadTooLargeError('The body', JSON_BODY_BYTES)] : []),
    ...(requestBody ? [new RequestTimeoutError('The request did not arrive in time.')] : []),
    new AuthenticationError(),
    ...(scope === undefined ? [] : [new PermissionError(scope)]),
    new AddressNotAllowedError('198.51.100.7'),
    new AccountSuspendedError(),
    new RateLimitError(6),
    new InternalError('5f0c2d9e-1d0e-4f53-9c0a-2d1f6b7c8e90'),
    new ServiceUnavailableError(),
  ];
}

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']> & {
  'x-required-scope'?: string;
  'x-session'?: true;
  [JSON_BODY]?: SchemaOrRef;
};
type Response = Extract<Operation['responses'][string], { description: string }>;
type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type SchemaOrRef = Schemas[string];

/** Gives each success an example of the whole answer, put together from the examples of its fields. */
function addSuccessExamples(path: string, { responses }: Operation, { components }: OpenAPIObject): void {
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
  const sent = Object.entries(properties).filter(([name]) => required.includes(name));
  return Object.fromEntries(sent.map(([name, inner]) => [name, exampleOf(inner, schemas)]));
}
