import type { OpenAPIObject } from '@nestjs/swagger';
import {
  AccountSuspendedError,
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
} from '../../errors/errors.js';
import { type ErrorShape, errorShapeOf } from '../../errors/error-body.js';
import { JSON_BODY_BYTES } from '../input/json/json-body.js';
import { errorExamples, schemaRefOf } from './api-errors.decorator.js';
import { addSuccessExamples, type Operation, type Response } from './openapi-examples.js';

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

/** Adds what operations have in common: the headers, the errors that many can answer with, and an example of success. */
export function documentCommon(document: OpenAPIObject): OpenAPIObject {
  document.components = { ...document.components };
  document.components.schemas = { ...document.components.schemas, Error: ERROR_SCHEMA };
  for (const [path, item] of Object.entries(document.paths)) {
    const shape = errorShapeOf(path);
    if (shape) Object.assign(document.components.schemas, { [shape.schemaName]: shape.schema });
    for (const operation of [item.get, item.post, item.put, item.delete] as (Operation | undefined)[]) {
      if (!operation) continue;
      // An operation without a scope is open to anyone who knows its URL.
      if (operation['x-required-scope'] === undefined) operation.security = [];
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
    new AccountSuspendedError(),
    new RateLimitError(6),
    new InternalError('5f0c2d9e-1d0e-4f53-9c0a-2d1f6b7c8e90'),
    new ServiceUnavailableError(),
  ];
}
