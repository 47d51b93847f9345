import type { IncomingMessage } from 'node:http';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Request } from 'express';
import type { Observable } from 'rxjs';
import { ACCESS_RULE, type AccessRule } from '../access/require-scope.js';
import { MalformedRequestError, PayloadTooLargeError, ValidationError } from '../errors/errors.js';
import { takesBody, takesQuery } from './handler-parameters.js';

export const JSON_BODY_BYTES = 102_400;
/** Deeper than any body of ours; a bound keeps recursive code behind this point safe. */
const MAX_DEPTH = 16;

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
    if (takesBody(context)) request.body = await readJson(request);
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

async function readJson(request: Request): Promise<object> {
  const encoding = request.headers['content-encoding'];
  if (!request.is('application/json') || (encoding && encoding !== 'identity')) {
    throw new MalformedRequestError('A JSON object is required, with Content-Type: application/json.');
  }
  const body = parse(await readAll(request));
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new MalformedRequestError('The body must be a JSON object.');
  }
  if (isDeeperThan(body, MAX_DEPTH))
    throw new MalformedRequestError(`The body is nested deeper than ${MAX_DEPTH} levels.`);
  return body;
}

/** Not Express's own parser: that one answers a body that is too large only once its end has come, if ever it does. */
function readAll(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let arrived = 0;
    const limit = (bytes: number): void => {
      if (bytes > JSON_BODY_BYTES) reject(new PayloadTooLargeError('The body', JSON_BODY_BYTES));
    };
    const breakOff = (): void => reject(new MalformedRequestError('The body could not be read.'));
    limit(Number(request.headers['content-length'] ?? 0));
    request.on('data', (chunk: Buffer) => {
      arrived += chunk.length;
      limit(arrived);
      if (arrived <= JSON_BODY_BYTES) chunks.push(chunk);
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', breakOff).on('close', breakOff);
    if (request.destroyed) breakOff();
  });
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    throw new MalformedRequestError('The body is not valid JSON in UTF-8.');
  }
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}
