import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable, type NestMiddleware } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import type { DestinationStream } from 'pino';
import { redactSecrets } from '../secrets.service.js';
import { traces } from './traces/traces.js';

/** Where lines are written, and which statuses are logged. */
export interface RequestLogMiddlewareOptions {
  destination: DestinationStream;
  logsAnswers: boolean;
  logsFailures: boolean;
}

/**
 * Logs one line for each request. It runs first, so that early failures are logged too, and never logs the query, the
 * headers or the body. The lines have pino's format and are written once per turn of the event loop, because pino-http
 * and nestjs-pino cost a child logger and an async context for each request.
 */
@Injectable()
export class RequestLogMiddleware implements NestMiddleware {
  private pending = '';

  constructor(private readonly options: RequestLogMiddlewareOptions) {}

  use(request: Request, response: Response, next: NextFunction): void {
    assignRequestId(request, response);
    // Read now: a closed socket has no address.
    const { method, path, ip } = request;
    const startedAt = performance.now();
    if (this.options.logsFailures && !path.startsWith('/health')) {
      response.on('close', () => this.log(request, response, { method, path, ip, startedAt }));
    }
    next();
  }

  private log(request: Request, response: Response, { method, path, ip, startedAt }: RequestStart): void {
    const status = response.statusCode;
    const isFailure = status >= 500;
    if (!isFailure && !this.options.logsAnswers) return;
    if (this.pending === '') setImmediate(() => this.write());
    const line = {
      level: isFailure ? 'error' : 'info',
      time: Date.now(),
      pid: process.pid,
      request_id: requestIdOf(request),
      ...traces.fields(request),
      ...callerOf(request),
      method,
      path: redactSecrets(path).replace(END_USER, '$1…'),
      address: ip,
      status,
      duration_ms: Math.round(performance.now() - startedAt),
      // The connection closed before the response was complete.
      aborted: response.writableFinished || status === SWITCHING_PROTOCOLS ? undefined : true,
      msg: 'answered',
    };
    this.pending += `${JSON.stringify(line)}\n`;
  }

  private write(): void {
    this.options.destination.write(this.pending);
    this.pending = '';
  }
}

/** The connection goes on as another protocol. */
const SWITCHING_PROTOCOLS = 101;

/** Data of a request at its start. */
interface RequestStart {
  method: string;
  path: string;
  ip: string | undefined;
  startedAt: number;
}

/** Who is erased must not be found in the logs (D46). */
const END_USER = /^(\/v1\/users\/).+$/;

/** Ids of the caller of a request, for its line in the log. Never names or addresses of persons. */
export interface RequestCaller {
  account_id: string;
  /** The API key, or the one that issued the access token. */
  key_id?: string | undefined;
  token_id?: string | undefined;
  /** Who has signed in. */
  person_id?: string | undefined;
}

export function setCaller(request: IncomingMessage, caller: RequestCaller): void {
  (request as { caller?: RequestCaller }).caller = caller;
}

/** Undefined for a request without valid credentials. */
export function callerOf(request: IncomingMessage): RequestCaller | undefined {
  return (request as { caller?: RequestCaller }).caller;
}

const REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Keeps the id of the client if it has the allowed form, and sends it in the response. */
export function assignRequestId(request: IncomingMessage, response: ServerResponse): void {
  const given = request.headers['x-request-id'];
  const id = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
  Object.assign(request, { id });
  response.setHeader('X-Request-Id', id);
}

export function requestIdOf(request: IncomingMessage): string {
  return (request as { id?: string }).id ?? 'unknown';
}
