import type { NextFunction, Request, Response } from 'express';
import { MalformedRequestError, PayloadTooLargeError } from '../../../errors/errors.js';
import { duplicateKey } from './json-keys.js';

export const JSON_BODY_BYTES = 102_400;
/** Deeper than any body of ours. The bound keeps recursive code after this point safe. */
const MAX_DEPTH = 16;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The JSON body of a request that has not been read yet: `request.body`, until `JsonBodyPipe` reads it for a handler with
 * a `@Body()` parameter. A global parser would read the bodies of strangers before the guards refuse them (D14).
 */
export class JsonBody {
  /** A handler with `@JsonBodyLimit` takes more. */
  maxBytes = JSON_BODY_BYTES;
  private body: Promise<object> | undefined;

  constructor(private readonly request: Request) {}

  /** The same object each time. @throws MalformedRequestError, PayloadTooLargeError */
  read(): Promise<object> {
    this.body ??= this.receive();
    return this.body;
  }

  private async receive(): Promise<object> {
    const encoding = this.request.headers['content-encoding'];
    if (!this.request.is('application/json') || (encoding && encoding !== 'identity')) {
      throw new MalformedRequestError('Send a JSON object with Content-Type: application/json.');
    }
    const body = parse(await readAll(this.request, this.maxBytes));
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new MalformedRequestError('The body must be a JSON object.');
    }
    if (isDeeperThan(body, MAX_DEPTH)) {
      throw new MalformedRequestError(`The body must not be nested deeper than ${MAX_DEPTH} levels.`);
    }
    return body;
  }
}

/** Puts the unread body in the place where `@Body()` looks for it. */
export function provideJsonBody(request: Request, _response: Response, next: NextFunction): void {
  request.body = new JsonBody(request);
  next();
}

/** Not Express's own parser: that one answers a body that is too large only when all of it has arrived. */
function readAll(request: Request, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let received = 0;
    const limit = (bytes: number): void => {
      if (bytes > maxBytes) reject(new PayloadTooLargeError('The body', maxBytes));
    };
    const abort = (): void => reject(new MalformedRequestError('The body is incomplete.'));
    limit(Number(request.headers['content-length'] ?? 0));
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      limit(received);
      if (received <= maxBytes) chunks.push(chunk);
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', abort).on('close', abort);
    if (request.destroyed) abort();
  });
}

function parse(bytes: Buffer): unknown {
  let text: string;
  let body: unknown;
  try {
    text = utf8.decode(bytes);
    body = JSON.parse(text);
  } catch {
    throw new MalformedRequestError('The body is not valid JSON in UTF-8.');
  }
  const duplicate = duplicateKey(text);
  if (duplicate !== null) {
    throw new MalformedRequestError(`The body has the key ${JSON.stringify(duplicate.slice(0, 100))} twice.`);
  }
  return body;
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}
