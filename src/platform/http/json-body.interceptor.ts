import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { raw, type Request, type Response } from 'express';
import type { Observable } from 'rxjs';
import { ACCESS_RULE, type AccessRule } from '../access/require-scope.js';
import { MalformedRequestError, PayloadTooLargeError, ValidationError } from '../errors/errors.js';
import { takesBody, takesQuery } from './handler-parameters.js';

export const JSON_BODY_BYTES = 102_400;
/** Deeper than any body of ours; a bound keeps recursive code behind this point safe. */
const MAX_DEPTH = 16;

/** `inflate: false` answers compressed bodies with 415, which the error filter turns into a 400. */
const readRaw = raw({ type: 'application/json', limit: JSON_BODY_BYTES, inflate: false });
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads the JSON body of those handlers that ask for one. It stands here, and not in a global parser, because a
 * stranger's body must not be read before the guards have let the request in (D14).
 */
@Injectable()
export class JsonBodyInterceptor implements NestInterceptor {
  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<Request>();
    if (!takesQuery(context) && !isPublic(context)) refuseQuery(request);
    if (takesBody(context)) request.body = await readJson(request, context.switchToHttp().getResponse<Response>());
    return next.handle();
  }
}

/** A handler without query parameters refuses them all, so that a misspelt one never passes for success (D16). */
function refuseQuery(request: Request): void {
  const [unknown] = Object.keys(request.query);
  if (unknown !== undefined)
    throw new ValidationError({ field: unknown, reason: 'is not a parameter of this operation' });
}

/** No operation of the interface: a probe may add what it likes, and an unknown path is a 404 whatever is asked of it. */
function isPublic(context: ExecutionContext): boolean {
  const rule = Reflect.getMetadata(ACCESS_RULE, context.getHandler()) as AccessRule | undefined;
  return rule?.scope === null;
}

async function readJson(request: Request, response: Response): Promise<object> {
  if (!request.is('application/json')) {
    throw new MalformedRequestError('A JSON object is required, with Content-Type: application/json.');
  }
  await new Promise<void>((resolve, reject) => {
    readRaw(request, response, (error?: unknown) => (error ? reject(explain(error)) : resolve()));
  });
  const body = parse(request.body);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new MalformedRequestError('The body must be a JSON object.');
  }
  if (isDeeperThan(body, MAX_DEPTH))
    throw new MalformedRequestError(`The body is nested deeper than ${MAX_DEPTH} levels.`);
  return body;
}

function parse(bytes: unknown): unknown {
  try {
    return JSON.parse(utf8.decode(bytes as Buffer));
  } catch {
    throw new MalformedRequestError('The body is not valid JSON in UTF-8.');
  }
}

function explain(error: unknown): Error {
  const status = (error as { status?: number }).status;
  if (status === 413) return new PayloadTooLargeError('The body', JSON_BODY_BYTES);
  return new MalformedRequestError('The body could not be read.');
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}
