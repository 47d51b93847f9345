import { createServer, type IncomingMessage, type ServerOptions, type ServerResponse } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Request, type Response } from 'express';
import type { Env } from '../../config/env.js';
import { sendText } from '../output/send-text.js';
import { ConnectionLimiter } from './connections/connection-limiter.js';
import { endParsingWithConnection } from './end-parsing.js';
import { preparedClasses } from './prepared-express.js';
import { answerUnparsable } from './raw-answer.js';
import { originForm } from './request-line.js';

const SWEEP_MS = 50;
/** On shutdown requests in progress have this long to finish: a slow client must not delay the saving of counts. */
const CLOSE_MS = 4000;

/** Nest's Express adapter with explicit limits instead of Node's defaults. */
export class BoundedExpressAdapter extends ExpressAdapter {
  readonly limiter: ConnectionLimiter;

  constructor(private readonly env: Env) {
    const app = strictExpress(env);
    super(app);
    this.limiter = new ConnectionLimiter({
      limits: env,
      isProxy: (address) => isTrustedProxy(app, address),
      handle: (request, response) => {
        request.url = originForm(request.url ?? '/');
        app(request as Request, response as Response);
      },
    });
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    endParsingWithConnection(app.request);
    const handle = (request: IncomingMessage, response: ServerResponse): void => this.limiter.serve(request, response);
    const server = createServer({ ...this.limits(), ...preparedClasses(app) }, handle);
    // An unknown expectation may be ignored (RFC 9110 §10.1.1). Node's own 417 has neither body nor headers.
    server.on('checkExpectation', handle);
    server.on('clientError', answerUnparsable);
    this.limiter.attach(server);
    this.httpServer = server;
  }

  /**
   * Handlers return plain objects, which need none of Express's other checks: settings, ETags, conditional requests,
   * parts of a content type. Express copies a long text into a buffer: a page of 50 takes 141 instead of 200 µs CPU
   * (docs/performance.md). Held by express.adapter.spec.ts.
   */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    const type = response.getHeader('Content-Type');
    const isText = typeof body === 'string' && String(type).endsWith('; charset=utf-8');
    if (!isText && (type !== undefined || !isPlain(body))) return super.reply(response, body, statusCode);
    if (statusCode !== undefined) response.statusCode = statusCode;
    if (isText) return sendText(response, body);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    return sendText(response, JSON.stringify(body));
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
      keepAliveTimeout: this.env.keepAliveSeconds * 1000,
      // Node's own 400 has no body; `validateRequestLine` answers instead.
      requireHostHeader: false,
      connectionsCheckingInterval: 1000,
    };
  }
}

function isPlain(body: unknown): body is object {
  return typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype;
}

/** The compiled `trust proxy`, as Express asks it for the peer of a connection. */
function isTrustedProxy(app: Express, address: string): boolean {
  const trusts = app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  return trusts(address, 0);
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
