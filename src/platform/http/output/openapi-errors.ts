import type { OpenAPIObject } from '@nestjs/swagger';
import {
  type ApiError,
  AuthenticationError,
  ConflictError,
  InternalError,
  MalformedRequestError,
  NotFoundError,
  PayloadTooLargeError,
  PermissionError,
  RateLimitError,
  ServiceUnavailableError,
  InvalidRequestError,
} from '../../errors/errors.js';
import { errorBody } from './error.filter.js';
import { JSON_BODY_BYTES } from '../input/json-body.guard.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Response = Extract<Operation['responses'][string], { description: string }>;
type HeaderType = 'integer' | 'string';
type Header = { description: string; required: true; schema: { type: HeaderType } };

/** The envelope of every error; `success: false` stands beside `error` on 429. */
const ERROR_SCHEMA = {
  type: 'object' as const,
  required: ['error'],
  properties: {
    success: { type: 'boolean' as const, enum: [false], description: 'Only on 429.' },
    error: {
      type: 'object' as const,
      required: ['code', 'message', 'type', 'details'],
      properties: {
        code: { oneOf: [{ type: 'integer' as const }, { type: 'string' as const }] },
        message: { type: 'string' as const },
        type: { type: 'string' as const },
        details: { type: 'object' as const, additionalProperties: true },
      },
    },
  },
};

const always = (type: HeaderType, description: string): Header => ({ description, required: true, schema: { type } });

const EVERYWHERE: Record<string, Header> = {
  'X-RateLimit-Limit': always('integer', "The plan's requests a minute."),
  'X-RateLimit-Remaining': always('integer', 'Requests left before the burst headroom.'),
  'X-RateLimit-Reset': always('integer', 'Unix time at which the bucket is full again.'),
  'X-Request-Id': always('string', "The request's id, for support."),
};
const RETRY_AFTER = always('integer', 'Whole seconds to wait.');

const ALWAYS: ApiError[] = [
  new InvalidRequestError({ field: 'limit', reason: 'must be an integer from 1 to 100' }),
  new AuthenticationError(),
  new PermissionError('recordings:read'),
  new RateLimitError(6),
  new InternalError('5f0c2d9e-1d0e-4f53-9c0a-2d1f6b7c8e90'),
  new ServiceUnavailableError(),
];

/** Adds to each operation what it has in common with the others: the errors it can answer with, and the headers. */
export function documentErrors(document: OpenAPIObject): OpenAPIObject {
  document.components = { ...document.components };
  document.components.schemas = { ...document.components.schemas, Error: ERROR_SCHEMA };
  for (const [path, item] of Object.entries(document.paths)) {
    for (const operation of [item.get, item.post, item.put, item.delete]) {
      if (operation) documentOperation(path, operation);
    }
  }
  return document;
}

function documentOperation(path: string, operation: Operation): void {
  for (const response of Object.values(operation.responses) as Response[]) {
    response.description ||= 'Done.';
    response.headers = { ...EVERYWHERE, ...response.headers };
  }
  for (const error of errorsOf(path, operation)) {
    operation.responses[error.status] ??= {
      description: error.type,
      headers: { ...EVERYWHERE, ...(error.retryAfter !== undefined && { 'Retry-After': RETRY_AFTER }) },
      content: {
        'application/json': { schema: { $ref: '#/components/schemas/Error' }, example: errorBody(error) },
      },
    };
  }
}

function errorsOf(path: string, { requestBody }: Operation): ApiError[] {
  const errors = [...ALWAYS];
  if (path.includes('{')) errors.push(new NotFoundError('recording'));
  if (requestBody) errors.push(new MalformedRequestError('The body is not valid JSON in UTF-8.'));
  if (requestBody) errors.push(new PayloadTooLargeError('The body', JSON_BODY_BYTES));
  const isUpload = requestBody && 'content' in requestBody && 'multipart/form-data' in requestBody.content;
  if (isUpload) errors.push(new ConflictError('This Idempotency-Key was used for an upload with other contents.'));
  if (path.endsWith('/retry'))
    errors.push(new ConflictError('Only a recording with the status failed can be retried.'));
  return errors;
}
