import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { CliError, usageError } from '../cli-error.js';

/** Bodies of the service are far smaller. */
const MAX_BODY_BYTES = 1024 * 1024;
/** A listener that is still alive says so under its path. */
export const ALIVE = 'vnotes webhooks listen';

export interface Delivery {
  headers: IncomingHttpHeaders;
  body: Buffer;
}

interface Answer {
  status: number;
  text: string;
}

/** A local server for the webhook alone: every other path is 404. */
export class Receiver {
  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async listen(
    { host, port, path }: { host: string; port: number; path: string },
    receive: (delivery: Delivery) => Promise<Answer>,
  ): Promise<Receiver> {
    const server = createServer((request, response) => {
      void respond(request, response, path, receive);
    });
    server.listen(port, host);
    await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') throw usageError(`Port ${port} is in use. Choose another one: --port`);
      throw new CliError(`Cannot listen on ${host}:${port}: ${error.message}.`);
    });
    return new Receiver(server, (server.address() as AddressInfo).port);
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  receive: (delivery: Delivery) => Promise<Answer>,
): Promise<void> {
  const { status, text } = await answerTo(request, path, receive);
  response.writeHead(status, { 'Content-Type': 'text/plain', Connection: 'close' }).end(`${text}\n`);
}

async function answerTo(
  request: IncomingMessage,
  path: string,
  receive: (delivery: Delivery) => Promise<Answer>,
): Promise<Answer> {
  try {
    if (request.url !== path) return { status: 404, text: 'Not found.' };
    if (request.method === 'GET') return { status: 200, text: ALIVE };
    if (request.method !== 'POST') return { status: 405, text: 'POST only.' };
    const body = await bodyOf(request);
    if (!body) return { status: 413, text: 'Too large.' };
    return await receive({ headers: request.headers, body });
  } catch (error) {
    return { status: 500, text: (error as Error).message };
  }
}

/** Null when it is too large. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
