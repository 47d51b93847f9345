import type { IncomingMessage } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { ACCESS_RULE, type AccessRule } from '../../../access/access.decorators.js';
import { MalformedRequestError, PayloadTooLargeError, InvalidRequestError } from '../../errors/errors.js';
import { takesBody, takesQuery } from './handler-parameters.js';

export const JSON_BODY_BYTES = 102_400;
/** Deeper than any body of ours; a bound keeps recursive code behind this point safe. */
const MAX_DEPTH = 16;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads the JSON body of those handlers that ask for one. It is the last of the guards, and not a global parser, because
 * a stranger's body must not be read before the others have let the request in (D14); and not an interceptor, which
 * would cost also the requests without a body: a single one has Nest build observables for each.
 */
@Injectable()
export class JsonBodyGuard implements CanActivate {
  canActivate(context: ExecutionContext): true | Promise<true> {
    const request = context.switchToHttp().getRequest<Request>();
    const wishes = wishesOf(context);
    if (wishes.refusesQuery) refuseQuery(request);
    return wishes.takesBody ? readInto(request) : true;
  }
}

interface Wishes {
  takesBody: boolean;
  /** Operations of the interface alone: a probe may add what it likes, and an unknown path is a 404 whatever is asked. */
  refusesQuery: boolean;
}

const known = new WeakMap<object, Wishes>();

function wishesOf(context: ExecutionContext): Wishes {
  const handler = context.getHandler();
  const before = known.get(handler);
  if (before) return before;
  const rule = Reflect.getMetadata(ACCESS_RULE, handler) as AccessRule | undefined;
  const wishes = { takesBody: takesBody(context), refusesQuery: !takesQuery(context) && rule?.scope !== null };
  known.set(handler, wishes);
  return wishes;
}

/** A handler without query parameters refuses them all, so that a misspelt one never passes for success (D16). */
function refuseQuery(request: Request): void {
  if (!request.url.includes('?')) return;
  const [unknown] = Object.keys(request.query);
  if (unknown !== undefined)
    throw new InvalidRequestError({ field: unknown, reason: 'is not a parameter of this operation' });
}

async function readInto(request: Request): Promise<true> {
  request.body = await readJson(request);
  return true;
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
