import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type ClientOptions, WebSocket } from 'ws';
import { eventually } from '../../../../src/testing/eventually.js';

/** A message of the service in either protocol. */
export type LiveMessage = { type: string } & Record<string, unknown>;

export interface Refusal {
  status: number | undefined;
  headers: IncomingMessage['headers'];
  body: { error: { code: number; message: string; type: string; details: Record<string, unknown> } };
}

const open = new Set<WebSocket>();

/** A WebSocket to `/v1/realtime` that keeps what it was sent. */
export class LiveClient {
  readonly messages: LiveMessage[] = [];
  closed: { code: number; reason: string } | null = null;

  private constructor(readonly socket: WebSocket) {
    open.add(socket);
    socket.on('message', (data) => this.messages.push(JSON.parse((data as Buffer).toString()) as LiveMessage));
    socket.on('error', () => undefined);
    socket.on('close', (code, reason) => {
      open.delete(socket);
      this.closed = { code, reason: reason.toString() };
    });
  }

  static async open(url: string, query: string, options: ClientOptions, protocols: string[] = []): Promise<LiveClient> {
    const client = new LiveClient(new WebSocket(addressOf(url, query), protocols, options));
    await once(client.socket, 'open');
    return client;
  }

  /** What a request is answered with that gets no WebSocket. */
  static async refused(url: string, query: string, options: ClientOptions, protocols: string[] = []): Promise<Refusal> {
    const socket = new WebSocket(addressOf(url, query), protocols, options);
    socket.on('error', () => undefined);
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Refusal['body'];
    return { status: response.statusCode, headers: response.headers, body };
  }

  static closeAll(): void {
    for (const socket of open) socket.terminate();
  }

  send(message: object | string | Buffer): void {
    this.socket.send(Buffer.isBuffer(message) || typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** The first message of this type that `fits`. */
  async next(type: string, fits: (message: LiveMessage) => boolean = () => true): Promise<LiveMessage> {
    return await eventually(() => {
      const found = this.messages.find((message) => message.type === type && fits(message));
      if (!found && this.closed) throw new Error(`closed before ${type}: ${JSON.stringify(this.closed)}`);
      return found;
    });
  }

  all(type: string): LiveMessage[] {
    return this.messages.filter((message) => message.type === type);
  }

  async end(): Promise<{ code: number; reason: string }> {
    return await eventually(() => this.closed);
  }
}

const addressOf = (url: string, query: string): string => `${url.replace(/^http/, 'ws')}/v1/realtime${query}`;
