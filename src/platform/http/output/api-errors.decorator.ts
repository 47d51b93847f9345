import { applyDecorators } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { errorBody } from '../../errors/error-body.js';
import type { ApiError } from '../../errors/errors.js';

/**
 * Documents the errors that one handler can answer with, each by an example. Those that many operations share, such as
 * 401 and 429, are added in one place (openapi-common.ts).
 */
export function ApiErrors(...errors: ApiError[]): MethodDecorator {
  const statuses = [...new Set(errors.map(({ status }) => status))];
  return applyDecorators(
    ...statuses.map((status) => {
      const examples = errorExamples(errors.filter((error) => error.status === status));
      return ApiResponse({ status, content: { 'application/json': { schema: ERROR_SCHEMA_REF, examples } } });
    }),
  );
}

export const ERROR_SCHEMA_REF = { $ref: '#/components/schemas/Error' };

/** Named by their types, or by their codes where these are names; the second of a type gets a number. */
export function errorExamples(errors: ApiError[]): Record<string, { value: object }> {
  const examples: Record<string, { value: object }> = {};
  for (const error of errors) {
    const name = typeof error.code === 'string' ? error.code : error.type;
    examples[name in examples ? `${name}${Object.keys(examples).length + 1}` : name] = { value: errorBody(error) };
  }
  return examples;
}
