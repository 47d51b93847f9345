import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** Answers one request, or spoils it. The request is not read. */
export type Fault = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A server whose answers the test scripts, one after the other; the last one is repeated. */
export class FaultServer {
  readonly requests: IncomingMessage[] = [];
  private script: Fault[] = [];

  private constructor(private readonly server: Server) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.requests.push(request);
      const fault = this.script.length > 1 ? this.script.shift() : this.script[0];
      // The client may leave before its request or the answer is complete.
      request.on('error', () => {});
      void this.run(fault, request, response);
    });
  }

  private async run(fault: Fault | undefined, request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await fault?.(request, response);
    } catch (error) {
      if (!request.destroyed) throw error;
    }
  }

  static async start(): Promise<FaultServer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FaultServer(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Forgets the requests so far. */
  answer(...script: Fault[]): void {
    this.requests.length = 0;
    this.script = script;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

/** A whole answer. */
export const answer =
  (status: number, body: unknown = {}, headers: Record<string, string> = {}): Fault =>
  (request, response) => {
    request.resume();
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

/** The connection ends without an answer. */
export const drop: Fault = (request) => request.socket.destroy();

/** Bytes as they are, then the end of the connection. */
export const broken =
  (text: string): Fault =>
  (request) =>
    request.socket.end(text, () => request.socket.destroy());

/** Bytes as they are, then nothing. */
export const stalled =
  (text = ''): Fault =>
  (request) =>
    text && request.socket.write(text);

/** Takes the whole body, then does the rest. */
export const afterBody =
  (bodies: Buffer[], next: Fault): Fault =>
  async (request, response) => {
    bodies.push(await buffer(request));
    await next(request, response);
  };

/** The error of the service, as it writes it. */
export const refusal = (
  status: number,
  type: string,
  details: object = {},
  headers: Record<string, string> = {},
): Fault => answer(status, { error: { code: 1, message: `Refused: ${type}.`, type, details } }, headers);
