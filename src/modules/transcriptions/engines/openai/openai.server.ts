import { Readable } from 'node:stream';
import { Agent } from 'undici';
import type { TranscriptionForm } from './openai.form.js';

/** An answer of any status. */
export interface ServerReply {
  status: number;
  /** The JSON object or list in its body; undefined where there is none. */
  json: unknown;
  /** A body that is bare text, plain or as a JSON string. A page of HTML is neither: somebody else answered. */
  text: string | null;
  /** What a `Retry-After` header asks for, in milliseconds. */
  retryAfterMs: number | null;
}

/** No answer came. `code`: the system's or undici's name for the cause. */
export class NoReply extends Error {
  override readonly name = 'NoReply';

  constructor(
    readonly code: string,
    cause: unknown,
  ) {
    super(`No answer: ${code}`, { cause });
  }

  get timedOut(): boolean {
    return this.code === 'UND_ERR_HEADERS_TIMEOUT' || this.code === 'UND_ERR_BODY_TIMEOUT';
  }
}

interface SendOptions {
  /** From the request's first byte to the answer's last, in milliseconds. */
  limitMs: number;
  signal?: AbortSignal;
}

/** Ten minutes of speech with all their tokens are 1 MB. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;

/** The HTTP side of a server that speaks OpenAI's protocol: sends, waits no longer than told, reads a bounded answer. */
export class OpenAiServer {
  /** Without credentials, for messages. */
  readonly address: string;
  private readonly base: URL;
  private readonly agent: Agent;

  constructor(
    baseUrl: string,
    private readonly apiKey: string | null,
    connections: number,
  ) {
    this.base = new URL(baseUrl);
    this.address = `${this.base.origin}${this.base.pathname.replace(/\/+$/, '')}`;
    this.agent = new Agent({ connections, connect: { timeout: CONNECT_TIMEOUT_MS } });
  }

  async post(path: string, form: TranscriptionForm, options: SendOptions): Promise<ServerReply> {
    return await this.send('POST', path, options, form);
  }

  async get(path: string, options: SendOptions): Promise<ServerReply> {
    return await this.send('GET', path, options);
  }

  async close(): Promise<void> {
    await this.agent.destroy();
  }

  /** @throws NoReply, or the signal's reason when it is aborted. */
  private async send(
    method: 'GET' | 'POST',
    path: string,
    { limitMs, signal }: SendOptions,
    form?: TranscriptionForm,
  ): Promise<ServerReply> {
    const deadline = Date.now() + limitMs;
    try {
      const reply = await this.agent.request({
        origin: this.base.origin,
        path: `${this.base.pathname.replace(/\/+$/, '')}${path}`,
        method,
        headers: { accept: 'application/json', ...this.authorization(), ...form?.headers },
        body: form ? Readable.from(form.parts) : null,
        // undici's own limits of 300 s are too short for long audio on a slow server.
        headersTimeout: limitMs,
        bodyTimeout: limitMs,
        signal: signal ?? null,
      });
      const body = parse(await readBounded(reply.body, deadline), first(reply.headers['content-type']));
      return { status: reply.statusCode, ...body, retryAfterMs: readRetryAfter(first(reply.headers['retry-after'])) };
    } catch (error) {
      signal?.throwIfAborted();
      throw new NoReply(codeOf(error), error);
    }
  }

  private authorization(): Record<string, string> {
    return this.apiKey === null ? {} : { authorization: `Bearer ${this.apiKey}` };
  }
}

async function readBounded(body: AsyncIterable<Buffer>, deadline: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw Object.assign(new Error('The answer is too long'), { code: 'ANSWER_TOO_LONG' });
    // A server that trickles never meets the limit between two chunks.
    if (Date.now() > deadline) throw Object.assign(new Error('Too slow'), { code: 'UND_ERR_BODY_TIMEOUT' });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(body: string, type: string): Pick<ServerReply, 'json' | 'text'> {
  if (/^text\/plain\b/i.test(type) && !body.startsWith('{')) return { json: undefined, text: body };
  try {
    const json: unknown = JSON.parse(body);
    return typeof json === 'string' ? { json: undefined, text: json } : { json, text: null };
  } catch {
    return { json: undefined, text: null };
  }
}

function first(header: string | string[] | undefined): string {
  return (Array.isArray(header) ? header[0] : header) ?? '';
}

/** Seconds or a date (RFC 9110, section 10.2.3). */
function readRetryAfter(value: string): number | null {
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(ms, 0) : null;
}

function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  if (typeof code === 'string') return code;
  return error instanceof Error ? error.name : 'unknown';
}
