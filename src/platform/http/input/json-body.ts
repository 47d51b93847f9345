import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import type { Request, RequestHandler } from 'express';
import type { Observable } from 'rxjs';
import type { ThreadPoolService, ThreadTask } from '../../concurrency/thread-pool.service.js';
import { MalformedRequestError, PayloadTooLargeError } from '../../errors/errors.js';
import { parseBody, type ParsedBody, parseLargeBody } from './parse-body.js';

export const JSON_BODY_BYTES = 102_400;
const PARSE_LARGE_BODY: ThreadTask<Uint8Array, ParsedBody> = {
  run: parseLargeBody,
  module: 'platform/http/input/parse-body.js',
};

/**
 * The JSON body of a request that has not been read yet: `request.body`, until `RequestValidationPipe` reads it for a handler with
 * a `@Body()` parameter. A global parser would read the bodies of strangers before the guards refuse them (D14).
 */
export class JsonBody {
  /** A handler with `@JsonBodyLimit` takes more. In such a body lists and objects arrive as their JSON text. */
  maxBytes = JSON_BODY_BYTES;
  private body: Promise<object> | undefined;

  constructor(
    private readonly request: Request,
    private readonly threads: ThreadPoolService,
  ) {}

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
    const bytes = await readAll(this.request, this.maxBytes);
    const parsed =
      bytes.length <= JSON_BODY_BYTES
        ? parseBody(bytes)
        : await this.threads.run('', PARSE_LARGE_BODY, new Uint8Array(bytes), bytes.length);
    if (parsed.problem !== null) throw new MalformedRequestError(parsed.problem);
    return parsed.body;
  }
}

/** Puts the unread body in the place where `@Body()` looks for it. */
export const provideJsonBody =
  (threads: ThreadPoolService): RequestHandler =>
  (request, _response, next) => {
    request.body = new JsonBody(request, threads);
    next();
  };

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

/** Interceptors run after the guards and before the pipe that reads the body. */
@Injectable()
class JsonBodyLimitInterceptor implements NestInterceptor {
  constructor(private readonly maxBytes: number) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { body } = context.switchToHttp().getRequest<Request>();
    if (body instanceof JsonBody) body.maxBytes = this.maxBytes;
    return next.handle();
  }
}

/** Lets one handler take a larger JSON body than the others. */
export const JsonBodyLimit = (maxBytes: number): MethodDecorator =>
  UseInterceptors(new JsonBodyLimitInterceptor(maxBytes));
