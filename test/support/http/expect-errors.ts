import type { Response } from 'supertest';
import { orNull, text } from './matchers.js';

/** The table of errors (interface, Errors): each type with its status and code. */
export const ERRORS = {
  AuthenticationError: { status: 401, code: 1001 },
  PermissionError: { status: 403, code: 1003 },
  AccountSuspendedError: { status: 403, code: 1004 },
  QuotaExceededError: { status: 403, code: 1005 },
  AddressNotAllowedError: { status: 403, code: 1006 },
  ValidationError: { status: 400, code: 2001 },
  MalformedRequestError: { status: 400, code: 2002 },
  LimitExceededError: { status: 400, code: 2005 },
  ConflictError: { status: 409, code: 2009 },
  PreconditionFailedError: { status: 412, code: 2012 },
  PayloadTooLargeError: { status: 413, code: 2013 },
  RangeNotSatisfiableError: { status: 416, code: 2016 },
  NotFoundError: { status: 404, code: 3001 },
  RateLimitError: { status: 429, code: 4003 },
  InternalError: { status: 500, code: 5001 },
  ServiceUnavailableError: { status: 503, code: 5003 },
} as const;

type Answer = Pick<Response, 'status' | 'headers' | 'body'>;

/** The status, the whole envelope, and the headers that every response under `/v1` carries. @param details exact. */
export function expectError(answer: Answer, type: keyof typeof ERRORS, details: object = {}): void {
  const { status, code } = ERRORS[type];
  const error = { code, message: expect.stringMatching(/\S/), type, details };
  const body = status === 429 ? { success: false, error } : { error };
  expect({ status: answer.status, body: answer.body }).toStrictEqual({ status, body });
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expectHeaders(answer);
}

/** As {@link expectError}, also for the operations whose errors have the shape of OpenAI's (D45). */
export function expectErrorOf(
  { isCompatible }: { isCompatible?: true },
  answer: Answer,
  type: keyof typeof ERRORS,
  details: object = {},
): void {
  if (!isCompatible) return expectError(answer, type, details);
  const body = { error: { message: expect.stringMatching(/\S/), type: text, param: orNull(text), code: orNull(text) } };
  expect({ status: answer.status, body: answer.body }).toStrictEqual({ status: ERRORS[type].status, body });
  for (const detail of Object.values(details)) expect(answer.body.error.message).toContain(detail);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expectHeaders(answer);
}

/** As {@link expectInvalid}, likewise. */
export function expectInvalidOf(
  operation: { isCompatible?: true },
  answer: Answer,
  field: string,
  reason?: RegExp,
): void {
  if (!operation.isCompatible) return expectInvalid(answer, field, reason);
  expectErrorOf(operation, answer, 'ValidationError');
  expect(answer.body.error).toMatchObject({ param: field, message: expect.stringMatching(reason ?? /\S/) });
}

/** A 400 whose first broken rule is this field's. @param errors the fields of all broken rules, when there are more. */
export function expectInvalid(answer: Answer, field: string, reason?: RegExp, errors = [field]): void {
  const rule = expect.stringMatching(reason ?? /\S/);
  const others = errors.slice(1).map((name) => ({ field: name, reason: expect.stringMatching(/\S/) }));
  expectError(answer, 'ValidationError', { field, reason: rule, errors: [{ field, reason: rule }, ...others] });
}

/** Three limits as integers, and an id (D6, Errors). */
export function expectHeaders({ headers }: Pick<Response, 'headers'>): void {
  const limits = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map((name) => headers[name]);
  expect(limits).toEqual(limits.map(() => expect.stringMatching(/^\d+$/)));
  expect(headers['x-request-id']).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
}

/** For requests that race: the statuses, smallest first. */
export const statusesOf = (answers: Pick<Response, 'status'>[]): number[] =>
  answers.map(({ status }) => status).toSorted((a, b) => a - b);
