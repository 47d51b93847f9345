import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import { isDatabaseUnavailable } from '../database/unavailable.js';
import { errorBody } from './error-body.js';
import {
  ApiError,
  InternalError,
  MalformedRequestError,
  PayloadTooLargeError,
  ServiceUnavailableError,
  UnknownPathError,
} from './errors.js';
import { StorageUnavailableError } from '../storage/file-system.js';
import { workBeforeAnswer } from '../http/server/before-answer.js';
import { discardRemainingBody } from '../http/server/early-response.js';
import { JSON_BODY_BYTES } from '../http/input/json-body.js';
import { requestIdOf } from '../observability/request-log.middleware.js';

/** Called with each error that a request is answered with. */
type ErrorObserver = (request: Request, error: ApiError) => void;

/** Renders every error, ours and those of Nest, Express and its parsers, in the envelope of its path. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger(ErrorFilter.name);

  constructor(private readonly observe: ErrorObserver = () => undefined) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<Request>();
    const response = host.switchToHttp().getResponse<Response>();
    const answer = (error: unknown): void => this.answer(error, request, response);
    const work = workBeforeAnswer(response, true);
    if (work) work.then(() => answer(thrown), answer);
    else answer(thrown);
  }

  private answer(thrown: unknown, request: Request, response: Response): void {
    const error = translate(thrown, requestIdOf(request));
    if (error.status >= 500) this.logger.error({ err: thrown, request_id: requestIdOf(request) }, error.message);
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    this.observe(request, error);
    discardRemainingBody(request, response);
    if (error.retryAfter !== undefined) response.setHeader('Retry-After', error.retryAfter);
    response.status(error.status).json(errorBody(error, request.originalUrl));
  }
}

/** The error of our own for whatever was thrown. */
export function translate(thrown: unknown, requestId: string): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof StorageUnavailableError || isDatabaseUnavailable(thrown)) return new ServiceUnavailableError();
  const status = statusOf(thrown);
  // Paths under /v1 have a handler of their own, so this one lies outside.
  if (status === 404) return new UnknownPathError('No such path. The API is under /v1; see /docs.');
  if (status === 413) return new PayloadTooLargeError('The body', JSON_BODY_BYTES);
  if (status !== null && status >= 400 && status < 500) {
    return new MalformedRequestError(
      thrown instanceof URIError ? 'The URL has a malformed percent-encoding.' : 'The request is malformed.',
    );
  }
  return new InternalError(requestId);
}

/** Nest's exceptions have a method, those of Express and its parsers (http-errors) a property. */
function statusOf(thrown: unknown): number | null {
  if (thrown instanceof HttpException) return thrown.getStatus();
  const status = (thrown as { status?: unknown } | null)?.status;
  return typeof status === 'number' ? status : null;
}
