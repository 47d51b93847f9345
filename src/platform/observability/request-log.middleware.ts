import { Injectable, type NestMiddleware } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import type { DestinationStream } from 'pino';
import { assignRequestId, requestIdOf } from '../http/server/request-id.js';

/** Where a log line goes, and which of the two kinds of line are wanted. */
export interface RequestLogMiddlewareOptions {
  destination: DestinationStream;
  logsAnswers: boolean;
  logsFailures: boolean;
}

/**
 * One line for each request, whatever became of it. Runs first of all, so that what fails early is logged too. Of a
 * request only what stands here is logged: never its query, its headers or its body. The lines look like pino's, and are
 * written past it, together at the end of each turn of the event loop: they are most of the log.
 */
@Injectable()
export class RequestLogMiddleware implements NestMiddleware {
  private pending = '';

  constructor(private readonly options: RequestLogMiddlewareOptions) {}

  use(request: Request, response: Response, next: NextFunction): void {
    assignRequestId(request, response);
    // Read now: a socket that is closed has no address any more.
    const { method, path, ip } = request;
    const startedAt = performance.now();
    if (this.options.logsFailures && !path.startsWith('/health')) {
      response.on('close', () => this.note(request, response, { method, path, ip, startedAt }));
    }
    next();
  }

  private note(request: Request, response: Response, { method, path, ip, startedAt }: Beginning): void {
    const status = response.statusCode;
    const isFailure = status >= 500;
    if (!isFailure && !this.options.logsAnswers) return;
    if (this.pending === '') setImmediate(() => this.write());
    const line = {
      level: isFailure ? 'error' : 'info',
      time: Date.now(),
      pid: process.pid,
      request_id: requestIdOf(request),
      method,
      path: path.replace(MISPLACED_SECRET, '$1…'),
      address: ip,
      status,
      duration_ms: Math.round(performance.now() - startedAt),
      // The connection ended before the answer was out.
      aborted: response.writableFinished ? undefined : true,
      msg: 'answered',
    };
    this.pending += `${JSON.stringify(line)}\n`;
  }

  private write(): void {
    this.options.destination.write(this.pending);
    this.pending = '';
  }
}

/** What is known of a request when it begins. */
interface Beginning {
  method: string;
  path: string;
  ip: string | undefined;
  startedAt: number;
}

/**
 * What clients hold and may put into a path by mistake: secrets of keys and webhooks, access tokens. All that follows
 * goes, too: base64 has slashes.
 */
const MISPLACED_SECRET = /(vns_|whsec_|eyJ).*$/;
