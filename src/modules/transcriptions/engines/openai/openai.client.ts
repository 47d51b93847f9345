import { Readable } from 'node:stream';
import { Agent } from 'undici';
import { parseRetryAfter } from '../../../../platform/http/header-values.js';
import type { TranscriptionForm } from './openai.form.js';

/** A response of any status. */
export interface OpenAiResponse {
  status: number;
  /** The JSON object or list in the body; undefined if there is none. */
  json: unknown;
  /** A body of plain text, or a JSON string. Not HTML, which comes from another server. */
  text: string | null;
  /** The `Retry-After` header in milliseconds. */
  retryAfterMs: number | null;
}

/** The server did not respond. `code`: the error code of the system or of undici. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError';

  constructor(
    readonly code: string,
    cause: unknown,
  ) {
    super(`No response: ${code}`, { cause });
  }

  get timedOut(): boolean {
    return this.code === 'UND_ERR_HEADERS_TIMEOUT' || this.code === 'UND_ERR_BODY_TIMEOUT';
  }
}

interface SendOptions {
  /** For the whole request and response, in milliseconds. */
  limitMs: number;
  signal?: AbortSignal;
}

/** Ten minutes of speech with all tokens take 1 MB. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;

/** HTTP client of an OpenAI-compatible server. Limits the time and the size of each response. */
export class OpenAiClient {
  /** For messages: without credentials. */
  readonly address: string;
  private readonly base: URL;
  private readonly agent: Agent;

  constructor(
    baseUrl: string,
    private readonly apiKey: string | null,
    connections: number,
  ) {
    this.base = new URL(baseUrl);
    this.address = `${this.base.origin}${this.base.pathname.replace(/(?<!\/)\/+$/, '')}`;
    // Explicitly, because NODE_TLS_REJECT_UNAUTHORIZED changes the default.
    const connect = { timeout: CONNECT_TIMEOUT_MS, rejectUnauthorized: true };
    this.agent = new Agent({ connections, connect });
  }

  async post(path: string, form: TranscriptionForm, options: SendOptions): Promise<OpenAiResponse> {
    return await this.send('POST', path, options, form);
  }

  async get(path: string, options: SendOptions): Promise<OpenAiResponse> {
    return await this.send('GET', path, options);
  }

  async close(): Promise<void> {
    await this.agent.destroy();
  }

  /** @throws NoResponseError, or the signal's reason when it is aborted. */
  private async send(
    method: 'GET' | 'POST',
    path: string,
    { limitMs, signal }: SendOptions,
    form?: TranscriptionForm,
  ): Promise<OpenAiResponse> {
    const deadline = Date.now() + limitMs;
    try {
      const response = await this.agent.request({
        origin: this.base.origin,
        path: `${this.base.pathname.replace(/(?<!\/)\/+$/, '')}${path}`,
        method,
        headers: { accept: 'application/json', ...this.authorization(), ...form?.headers },
        body: form ? Readable.from(form.parts) : null,
        // undici's defaults of 300 s are too short for long audio on a slow server.
        headersTimeout: limitMs,
        bodyTimeout: limitMs,
        signal: signal ?? null,
      });
      const body = parse(await readBounded(response.body, deadline), first(response.headers['content-type']));
      return {
        status: response.statusCode,
        ...body,
        retryAfterMs: parseRetryAfter(first(response.headers['retry-after'])),
      };
    } catch (error) {
      signal?.throwIfAborted();
      throw new NoResponseError(codeOf(error), error);
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
    if (bytes > MAX_RESPONSE_BYTES)
      throw Object.assign(new Error('The response is too long'), { code: 'RESPONSE_TOO_LONG' });
    // undici limits only the gap between two parts of the body, which a slow trickle never exceeds.
    if (Date.now() > deadline) throw Object.assign(new Error('Too slow'), { code: 'UND_ERR_BODY_TIMEOUT' });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(body: string, type: string): Pick<OpenAiResponse, 'json' | 'text'> {
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

function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  if (typeof code === 'string') return code;
  return error instanceof Error ? error.name : 'unknown';
}
