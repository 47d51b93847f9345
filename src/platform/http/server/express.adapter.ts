import { createServer, IncomingMessage, type ServerOptions, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Request, type Response } from 'express';
import type { Env } from '../../config/env.js';
import { sendText } from '../send-text.js';
import { workBeforeAnswer } from './before-answer.js';
import { ConnectionLimiter } from './connection-limiter.js';
import { answerUnparsable } from './early-response.js';
import { originForm } from './request-line.js';
import { asksForWebSocket } from './upgrade.js';

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
    refineUpgrade(app.request);
    const handle = (request: IncomingMessage, response: ServerResponse): void => this.limiter.serve(request, response);
    const server = createServer({ ...this.limits(), ...preparedClasses(app) }, handle);
    // An unknown expectation may be ignored (RFC 9110 §10.1.1). Node's own 417 has neither body nor headers.
    server.on('checkExpectation', handle);
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      this.limiter.upgrade(request, { socket, head });
    });
    server.on('clientError', answerUnparsable);
    this.limiter.attach(server);
    this.httpServer = server;
  }

  /** A promise where something is to be done before: when it fails, Nest answers with the error. */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    const work = workBeforeAnswer(response, false);
    return work ? work.then(() => this.send(response, body, statusCode)) : this.send(response, body, statusCode);
  }

  /**
   * Handlers return plain objects, which need none of Express's other checks: settings, ETags, conditional requests,
   * parts of a content type. Express copies a long text into a buffer: a page of 50 takes 141 instead of 200 µs CPU
   * (docs/performance.md). Held by express.adapter.spec.ts.
   */
  private send(response: Response, body: unknown, statusCode?: number): unknown {
    const type = response.getHeader('Content-Type');
    const isText = typeof body === 'string' && String(type).endsWith('; charset=utf-8');
    if (!isText && (type !== undefined || !isPlain(body))) return super.reply(response, body, statusCode);
    if (statusCode !== undefined) response.statusCode = statusCode;
    if (isText) return sendText(response, body);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    return sendText(response, JSON.stringify(body));
  }

  /** From now on each response closes its connection, which its client then does not use for one more request. */
  endKeepAlive(): void {
    this.httpServer.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      response.shouldKeepAlive = false;
    });
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

/**
 * Request and response classes for the HTTP server of an Express app that already have Express's prototypes. Express
 * sets the prototype of every request and response, after which V8 no longer optimises these objects. Setting the
 * prototype that an object already has costs nothing. Express itself works as before. A request with eight middlewares
 * takes 9 instead of 61 µs CPU (docs/performance.md). Held by express.adapter.spec.ts.
 */
export function preparedClasses(app: Express): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  return {
    IncomingMessage: withPrototype(IncomingMessage, app.request),
    ServerResponse: withPrototype(ServerResponse, app.response),
  };
}

/** Node's two classes are plain functions, which can be called on an object with another prototype. */
function withPrototype<Class extends typeof IncomingMessage | typeof ServerResponse>(
  base: Class,
  prototype: object,
): Class {
  const construct = base as unknown as (this: object, ...args: unknown[]) => void;
  function Prepared(this: object, ...args: unknown[]): void {
    construct.apply(this, args);
  }
  Object.setPrototypeOf(Prepared, base);
  Prepared.prototype = prototype;
  return Prepared as unknown as Class;
}

const upgrade = Symbol('what Node has set');
const isLate = Symbol('its connection was closed before');

/** Undefined before the constructor of `IncomingMessage` has run. */
type Received = Omit<IncomingMessage, 'socket' | 'upgrade'> & {
  socket?: IncomingMessage['socket'];
  [upgrade]?: boolean | null;
  [isLate]?: boolean;
};

/**
 * Says in place of Node which requests upgrade to another protocol.
 *
 * Those that ask for a WebSocket where there is one: Node hands them over with their connection. It would do so with all
 * that ask for any protocol, and never answer them.
 *
 * And those behind a closed connection. Node parses all requests of a chunk of 64 KB, up to 3000 of them, also when the
 * first ones have the connection closed; all other connections wait meanwhile. It stops after a request that upgrades.
 * Measured: 126 instead of 10,080 requests parsed, 45 instead of 280 ms.
 * @param prototype of all requests of a server
 */
function refineUpgrade(prototype: IncomingMessage): void {
  Object.defineProperty(prototype, 'upgrade', {
    configurable: true,
    get(this: Received) {
      if (this[isLate]) return true;
      // Node sets it before the headers.
      return this[upgrade] && (this.method === 'CONNECT' || asksForWebSocket(this as IncomingMessage));
    },
    set(this: Received, value: boolean | null) {
      this[upgrade] = value;
      // As it is when the head was read. Later a body may be in progress, whose end Node has to tell.
      this[isLate] ??= this.socket?.destroyed === true;
    },
  });
}
