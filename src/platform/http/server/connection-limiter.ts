import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { normalizeIp } from '@nestjs/throttler';
import type { Env } from '../../config/env.js';
import { RequestTimeoutError, TooManyConnectionsError } from '../../errors/errors.js';
import { endWithError } from './early-response.js';
import { responseToUpgrade, type Upgrade } from './upgrade.js';

const SWEEP_MS = 1000;
/** Refused connections that are answered with the reason at the same time. More are closed without an answer. */
const MAX_REFUSALS = 64;

export const CONNECTION_LIMITS = [
  'connections',
  'connections_per_address',
  'pipelined_requests',
  'body_rate',
  'response_rate',
  'write_timeout',
] as const;
export type ConnectionLimit = (typeof CONNECTION_LIMITS)[number];

interface Connection {
  /** In progress: its response is not sent, or its body has not ended. */
  current: Exchange | null;
  readonly waiting: Exchange[];
  watch: TransferWatch | null;
  /** Was answered that it is too slow. */
  isEnding: boolean;
}

type ConnectionSettings = Pick<
  Env,
  | 'maxConnections'
  | 'maxConnectionsPerAddress'
  | 'maxPipelinedRequests'
  | 'minTransferRate'
  | 'transferGraceSeconds'
  | 'writeTimeoutSeconds'
>;

export interface ConnectionLimiterOptions {
  limits: ConnectionSettings;
  /** Whether an address is that of a trusted proxy, whose connections are those of many clients. */
  isProxy: (address: string) => boolean;
  handle: (request: IncomingMessage, response: ServerResponse) => void;
}

/** Bounds what one connection, and one address, can take from the others (D50). */
export class ConnectionLimiter {
  /** How often each limit was met. */
  readonly hits = new Map<ConnectionLimit, number>();
  private readonly connections = new Map<Socket, Connection>();
  private readonly perAddress = new Map<string, number>();
  private refusals = 0;

  constructor(private readonly options: ConnectionLimiterOptions) {}

  get open(): number {
    return this.connections.size;
  }

  attach(server: Server): void {
    const { maxConnections, writeTimeoutSeconds } = this.options.limits;
    server.maxConnections = maxConnections;
    // Node restarts it with each byte of a request or a response that moves.
    server.timeout = writeTimeoutSeconds * 1000;
    server.on('timeout', (socket: Socket) => this.endIdle(socket));
    server.on('drop', () => this.count('connections'));
    server.on('connection', (socket: Socket) => this.admit(socket));
    const sweep = setInterval(() => this.sweep(), SWEEP_MS).unref();
    server.on('close', () => clearInterval(sweep));
  }

  /**
   * Hands over one request of a connection at a time. Node parses all requests of a chunk of 64 KB at once, and would
   * have the responses to all of them built and kept, in front of a client that reads none.
   */
  serve(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const connection = this.connections.get(socket);
    if (!connection || connection.isEnding || socket.destroyed) return;
    const exchange = { request, response };
    if (connection.waiting.length === 0 && !isBusy(connection)) this.start(connection, exchange);
    else if (connection.waiting.length < this.options.limits.maxPipelinedRequests) connection.waiting.push(exchange);
    else this.cut(socket, 'pipelined_requests');
  }

  /** As `serve`, for a request that asks for another protocol: Node no longer reads its connection. */
  upgrade(request: IncomingMessage, upgrade: Upgrade): void {
    const { socket } = request;
    const connection = this.connections.get(socket);
    if (!connection || connection.isEnding || socket.destroyed || isBusy(connection)) {
      socket.destroy();
      return;
    }
    this.start(connection, { request, response: responseToUpgrade(request, upgrade) });
  }

  private start(connection: Connection, exchange: Exchange): void {
    connection.current = exchange;
    exchange.response.on('close', () => this.next(connection, exchange));
    this.options.handle(exchange.request, exchange.response);
  }

  private next(connection: Connection, { request }: Exchange): void {
    // Kept while its body is still arriving, and let go otherwise: an idle connection holds no request.
    if (request.complete) connection.current = null;
    const waiting = connection.waiting.shift();
    if (!waiting) return;
    if (request.socket.destroyed) connection.waiting.length = 0;
    else this.start(connection, waiting);
  }

  private admit(socket: Socket): void {
    const address = socket.remoteAddress;
    if (address !== undefined && !this.options.isProxy(address) && !this.takePlace(socket, normalizeIp(address))) {
      this.refuse(socket);
      return;
    }
    this.connections.set(socket, { current: null, waiting: [], watch: null, isEnding: false });
    socket.once('close', () => this.connections.delete(socket));
  }

  private takePlace(socket: Socket, network: string): boolean {
    const taken = this.perAddress.get(network) ?? 0;
    if (taken >= this.options.limits.maxConnectionsPerAddress) return false;
    this.perAddress.set(network, taken + 1);
    socket.once('close', () => {
      const left = (this.perAddress.get(network) ?? 1) - 1;
      if (left > 0) this.perAddress.set(network, left);
      else this.perAddress.delete(network);
    });
    return true;
  }

  private refuse(socket: Socket): void {
    this.count('connections_per_address');
    if (this.refusals >= MAX_REFUSALS) {
      socket.destroy();
      return;
    }
    this.refusals++;
    socket.once('close', () => this.refusals--);
    endWithError(socket, new TooManyConnectionsError(this.options.limits.maxConnectionsPerAddress));
  }

  /** Nothing has moved for the time-out of writing, or for that of an idle connection. */
  private endIdle(socket: Socket): void {
    const connection = this.connections.get(socket);
    if (!connection) socket.destroy();
    else if (socket.writableLength > 0) this.cut(socket, 'write_timeout');
    // What a request waits for may be the service. Its body has limits of its own, and so has its head.
    else if (!isBusy(connection) && socket.bytesRead > 0) socket.destroy();
  }

  private sweep(): void {
    const { limits } = this.options;
    if (limits.minTransferRate === 0) return;
    const now = performance.now();
    for (const [socket, connection] of this.connections) {
      const { current, isEnding } = connection;
      if (!current || isEnding) connection.watch = null;
      else if (connection.watch?.exchange === current) this.checkRate(socket, connection, now);
      else connection.watch = new TransferWatch(current, socket, limits, now);
    }
  }

  private checkRate(socket: Socket, connection: Connection, now: number): void {
    const slow = connection.watch?.tooSlow(now);
    if (!slow) return;
    if (slow === 'response' || connection.current?.response.headersSent) {
      this.cut(socket, slow === 'response' ? 'response_rate' : 'body_rate');
      return;
    }
    this.count('body_rate');
    connection.isEnding = true;
    const { minTransferRate: rate, transferGraceSeconds: grace } = this.options.limits;
    const rule = `at least ${rate} bytes a second are required after ${grace} seconds`;
    const error = new RequestTimeoutError(`The body arrived too slowly: ${rule}.`);
    endWithError(socket, error, error.status, connection.current?.request.url);
    // The rest must not complete a request that was refused.
    socket.pause();
  }

  private cut(socket: Socket, limit: ConnectionLimit): void {
    this.count(limit);
    socket.destroy();
  }

  private count(limit: ConnectionLimit): void {
    this.hits.set(limit, (this.hits.get(limit) ?? 0) + 1);
  }
}

const isBusy = ({ current }: Connection): boolean => current !== null && !current.response.closed;

/** A request that was handed over, and its response. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

type TransferLimits = Pick<Env, 'minTransferRate' | 'transferGraceSeconds'>;

/** Where a measurement began: milliseconds and bytes. */
interface Start {
  at: number;
  bytes: number;
}

/** Measures how fast the body of a request arrives and its response is read, each time it is asked. */
export class TransferWatch {
  private readonly body: Start;
  private writing: Start | null = null;
  private askedAt: number;

  constructor(
    readonly exchange: Exchange,
    private readonly socket: Socket,
    private readonly limits: TransferLimits,
    now: number,
  ) {
    this.body = { at: now, bytes: socket.bytesRead };
    this.askedAt = now;
  }

  /** Which of the two is slower than allowed. */
  tooSlow(now: number): 'body' | 'response' | null {
    const sinceLast = now - this.askedAt;
    this.askedAt = now;
    if (this.isBodySlow(now, sinceLast)) return 'body';
    return this.isResponseSlow(now) ? 'response' : null;
  }

  private isBodySlow(now: number, sinceLast: number): boolean {
    const { request } = this.exchange;
    if (request.complete) return false;
    // Bytes that nobody has read yet: the service is the slower one, and this time does not count.
    if (request.readableLength > 0) this.body.at += sinceLast;
    return this.socket.bytesRead < this.due(this.body, now);
  }

  private isResponseSlow(now: number): boolean {
    const { bytesWritten, writableLength } = this.socket;
    if (writableLength === 0) {
      this.writing = null;
      return false;
    }
    this.writing ??= { at: now, bytes: bytesWritten - writableLength };
    // What waits counts as written: how much of it has left is not known until all of it has.
    return bytesWritten < this.due(this.writing, now);
  }

  /** The position that must have been reached. */
  private due({ at, bytes }: Start, now: number): number {
    const { minTransferRate, transferGraceSeconds } = this.limits;
    return bytes + Math.max(0, (now - at) / 1000 - transferGraceSeconds) * minTransferRate;
  }
}
