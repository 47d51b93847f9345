import { applyDecorators } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { errorBody, type ErrorShape } from '../../errors/error-body.js';
import type { ApiError } from '../../errors/errors.js';

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
export const schemaRefOf = (shape: ErrorShape | null): { $ref: string } => ({
  $ref: `#/components/schemas/${shape?.schemaName ?? 'Error'}`,
});

/** Named by their types, or by their codes where these are names; the second of a type gets a number. */
export function errorExamples(errors: ApiError[], shape: ErrorShape | null): Record<string, { value: object }> {
  const examples: Record<string, { value: object }> = {};
  for (const error of errors) {
    const name = typeof error.code === 'string' ? error.code : error.type;
    examples[name in examples ? `${name}${Object.keys(examples).length + 1}` : name] = {
      value: shape ? shape.body(error) : errorBody(error),
    };
  }
  return examples;
}
