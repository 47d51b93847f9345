import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerOptions, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Request, type Response } from 'express';
import type { Env } from '../../config/env.js';
import { errorBody } from '../../errors/error-body.js';
import { MalformedRequestError } from '../../errors/errors.js';
import { GRACE_MS } from './drop-body.js';
import { preparedClasses } from './prepared-express.js';
import { originForm } from './request-line.js';

const SWEEP_MS = 50;
/** On shutdown requests in progress have this long to finish: a slow client must not delay the saving of counts. */
const CLOSE_MS = 4000;

/** Nest's Express adapter with explicit limits instead of Node's defaults. */
export class BoundedExpressAdapter extends ExpressAdapter {
  constructor(private readonly env: Env) {
    super(strictExpress(env));
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      request.url = originForm(request.url ?? '/');
      app(request as Request, response as Response);
    };
    const server = createServer({ ...this.limits(), ...preparedClasses(app) }, handle);
    // An unknown expectation may be ignored (RFC 9110 §10.1.1). Node's own 417 has neither body nor headers.
    server.on('checkExpectation', handle);
    server.maxConnections = 10_000;
    server.on('clientError', answerUnparsable);
    this.httpServer = server;
  }

  /**
   * Handlers return plain objects, which need none of Express's other checks: settings, ETags, conditional requests,
   * parts of a content type.
   */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    if (!isPlain(body) || response.hasHeader('Content-Type')) return super.reply(response, body, statusCode);
    if (statusCode !== undefined) response.statusCode = statusCode;
    const text = JSON.stringify(body);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.setHeader('Content-Length', Buffer.byteLength(text));
    return response.end(text);
  }

  /** A connection that is busy when the shutdown begins becomes idle later, and would be kept alive for a minute. */
  override async close(): Promise<void> {
    const sweep = setInterval(() => this.httpServer.closeIdleConnections(), SWEEP_MS);
    const cut = setTimeout(() => this.httpServer.closeAllConnections(), CLOSE_MS);
    try {
      await super.close();
    } finally {
      clearInterval(sweep);
      clearTimeout(cut);
    }
  }

  private limits(): ServerOptions {
    const requestTimeout = this.env.uploadTimeoutSeconds * 1000;
    return {
      maxHeaderSize: 8192,
      // Node does not accept a longer time for the headers than for the whole request.
      headersTimeout: Math.min(10_000, requestTimeout),
      requestTimeout,
      keepAliveTimeout: 65_000,
      // Node's own 400 has no body; `validateRequestLine` answers instead.
      requireHostHeader: false,
      connectionsCheckingInterval: 1000,
    };
  }
}

function isPlain(body: unknown): body is object {
  return typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype;
}

/** Set before Nest adds its first layer: that creates Express's router, which reads its settings only once. */
function strictExpress(env: Env): Express {
  const app = express();
  app.set('trust proxy', env.trustProxy);
  app.set('case sensitive routing', true);
  app.set('strict routing', true);
  app.set('query parser', 'simple');
  app.disable('x-powered-by');
  app.disable('etag');
  return app;
}

const PARSER_ERRORS: Record<string, [status: number, reason: string, message: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'The URL and the headers are larger than 8 KB.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'The request did not arrive in time.'],
};
const NOT_HTTP: [number, string, string] = [400, 'Bad Request', 'The request is not valid HTTP/1.1.'];

/**
 * Answers what Node's parser refuses with the error envelope and closes the connection (D6): after a second also where
 * the client keeps its own half open.
 */
function answerUnparsable(error: NodeJS.ErrnoException, socket: Socket): void {
  // Already answered. To destroy the socket now could lose the response.
  if (socket.writableEnded) return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, reason, message] = PARSER_ERRORS[error.code ?? ''] ?? NOT_HTTP;
  const body = JSON.stringify(errorBody(new MalformedRequestError(message)));
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nX-Request-Id: ${randomUUID()}\r\n` +
      `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), GRACE_MS).unref();
}
