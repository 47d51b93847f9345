import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** The bytes as they arrived: the signature covers them. */
  body: Buffer;
  at: Date;
}

/** How a receiver answers a request. By default: 200 at once, with an empty body. */
export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  delayMs?: number;
  /** Answers once this has resolved. */
  after?: Promise<unknown>;
  /** Bytes of the body; `Infinity` never ends. */
  bodyBytes?: number;
  /** The body itself, instead of `bodyBytes`. */
  body?: string | Buffer;
  /** Stops sending: from the start, or after the headers. */
  hang?: 'headers' | 'body';
  /** Closes the connection instead of answering. */
  drop?: boolean;
}

type Script = (request: ReceivedRequest) => Answer;

const BODY_CHUNK = Buffer.alloc(16_384, 'x');

/** A server that receives webhooks: it stores the requests and answers as configured. */
export class WebhookReceiver {
  readonly requests: ReceivedRequest[] = [];
  private readonly queued: Answer[] = [];
  private defaultAnswer: Script = () => ({});
  private readonly waiting = new Set<() => void>();

  private constructor(
    private readonly server: Server,
    private readonly host: string,
  ) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      // A client may disconnect at any time.
      this.receive(request, response).catch(() => response.destroy());
    });
  }

  static async listen({ host = '127.0.0.1', port = 0 } = {}): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(createServer(), host);
    receiver.server.listen(port, host);
    await once(receiver.server, 'listening');
    return receiver;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  url(path = '/hook'): string {
    return `http://${this.host.includes(':') ? `[${this.host}]` : this.host}:${this.port}${path}`;
  }

  /** Answers for the next requests, one each; later requests get the default answer. */
  answerNext(...answers: Answer[]): this {
    this.queued.push(...answers);
    return this;
  }

  /** The answer for every request that has none queued. */
  answerAlways(answer: Answer | Script): this {
    this.defaultAnswer = typeof answer === 'function' ? answer : () => answer;
    return this;
  }

  /** Resolves with the requests so far as soon as they satisfy the predicate. @throws Error after `ms`. */
  async waitFor(satisfied: (requests: ReceivedRequest[]) => boolean, ms = 60_000): Promise<ReceivedRequest[]> {
    const deadline = Date.now() + ms;
    while (!satisfied(this.requests)) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`the receiver waited ${ms} ms in vain; it has ${this.requests.length} requests`);
      await this.nextRequest(left);
    }
    return this.requests;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    if (this.server.listening) await new Promise((resolve) => this.server.close(resolve));
  }

  private async nextRequest(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.waiting.add(wake);
    });
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = new Date();
    const body = Buffer.concat((await request.toArray()) as Buffer[]);
    const { method = '', url = '', headers } = request;
    const received = { method, path: url, headers, body, at };
    this.requests.push(received);
    for (const wake of this.waiting) wake();
    await give(this.queued.shift() ?? this.defaultAnswer(received), response);
  }
}

async function give(answer: Answer, response: ServerResponse): Promise<void> {
  if (answer.delayMs !== undefined) await delay(answer.delayMs);
  await answer.after;
  if (answer.drop) return void response.destroy();
  if (answer.hang === 'headers') return;
  response.writeHead(answer.status ?? 200, answer.headers);
  response.flushHeaders();
  if (answer.hang === 'body') return;
  if (answer.body !== undefined) return void response.end(answer.body);
  await pipeline(Readable.from(bodyChunks(answer.bodyBytes ?? 0)), response);
}

function* bodyChunks(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= BODY_CHUNK.length) {
    yield left < BODY_CHUNK.length ? BODY_CHUNK.subarray(0, left) : BODY_CHUNK;
  }
}

const TOLERANCE_SECONDS = 300;

/**
 * What is wrong with a delivery's signatures; an empty list when they are right. Written from the documentation for
 * receivers, independently of the code that signs.
 */
export function signatureProblems(request: ReceivedRequest, secret: string): string[] {
  const header = (name: string) => String(request.headers[name]);
  const problems: string[] = [];

  const plain = createHmac('sha256', secret).update(request.body).digest('hex');
  if (!same(header('x-service-signature'), `sha256=${plain}`)) problems.push('X-Service-Signature does not match');

  const [id, time] = [header('webhook-id'), header('webhook-timestamp')];
  const decoded = secret.startsWith('whsec_') ? Buffer.from(secret.substring(6), 'base64') : Buffer.alloc(0);
  // Node ignores invalid characters: a secret that encodes differently was not base64.
  const isBase64 = decoded.length > 0 && secret === `whsec_${decoded.toString('base64')}`;
  const message = Buffer.concat([Buffer.from(`${id}.${time}.`), request.body]);
  const standard = createHmac('sha256', isBase64 ? decoded : secret)
    .update(message)
    .digest('base64');
  const offered = header('webhook-signature').split(' ');
  if (!offered.some((value) => same(value, `v1,${standard}`))) problems.push('webhook-signature does not match');

  if (id !== header('x-service-event-id')) problems.push('webhook-id and X-Service-Event-Id differ');
  const ageSeconds = request.at.getTime() / 1000 - Number(time);
  if (!(Math.abs(ageSeconds) <= TOLERANCE_SECONDS)) problems.push('webhook-timestamp is not the time of arrival');
  return problems;
}

function same(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
