import { Blob } from 'node:buffer';
import { Agent, FormData } from 'undici';
import { parseRetryAfter } from '../../../../platform/http/header-values.js';
import type { ClientCertificate, Egress } from '../../../../platform/http/outgoing/egress.js';
import { BYTES_PER_SAMPLE, BYTES_PER_SECOND, SAMPLES_PER_SECOND } from '../../audio/pcm.js';

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
  private readonly base: { origin: string; path: string };
  private readonly agent: Agent;

  constructor(
    baseUrl: string,
    private readonly apiKey: string | null,
    connections: number,
    { egress, certificate = null }: { egress: Egress; certificate?: ClientCertificate | null },
  ) {
    const { origin, pathname } = new URL(baseUrl);
    this.base = { origin, path: pathname.replace(/(?<!\/)\/+$/, '') };
    this.address = `${origin}${this.base.path}`;
    const connect = egress.connector({ timeoutMs: CONNECT_TIMEOUT_MS, certificate });
    // undici's own limits of 300 s are too short for long audio on a slow server.
    this.agent = new Agent({ connections, connect, headersTimeout: 0, bodyTimeout: 0 });
  }

  async post(path: string, form: FormData, options: SendOptions): Promise<OpenAiResponse> {
    return await this.send(path, options, form);
  }

  async get(path: string, options: SendOptions): Promise<OpenAiResponse> {
    return await this.send(path, options, null);
  }

  async close(): Promise<void> {
    await this.agent.destroy();
  }

  /** @throws NoResponseError, or the signal's reason when it is aborted. */
  private async send(path: string, { limitMs, signal }: SendOptions, form: FormData | null): Promise<OpenAiResponse> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), limitMs);
    let timeoutCode = 'UND_ERR_HEADERS_TIMEOUT';
    try {
      const { statusCode, headers, body } = await this.agent.request({
        origin: this.base.origin,
        path: `${this.base.path}${path}`,
        method: form ? 'POST' : 'GET',
        headers: { accept: 'application/json', ...this.authorization() },
        body: form,
        signal: signal ? AbortSignal.any([limit.signal, signal]) : limit.signal,
      });
      timeoutCode = 'UND_ERR_BODY_TIMEOUT';
      const answer = parse(await readBounded(body), first(headers['content-type']) ?? '');
      return { status: statusCode, ...answer, retryAfterMs: parseRetryAfter(first(headers['retry-after'])) };
    } catch (error) {
      signal?.throwIfAborted();
      // A connection that fails after the limit is not ended by it, and names its own cause.
      throw new NoResponseError(error === limit.signal.reason ? timeoutCode : codeOf(error), error);
    } finally {
      clearTimeout(timer);
    }
  }

  private authorization(): Record<string, string> {
    return this.apiKey === null ? {} : { authorization: `Bearer ${this.apiKey}` };
  }
}

/** Text fields of the form; a name may occur twice. */
export type FormFields = readonly (readonly [name: string, value: string])[];

/** The terms as the text that Whisper takes for what was said before, so that it spells them alike. */
export const promptOf = (vocabulary: readonly string[]): FormFields =>
  vocabulary.length === 0 ? [] : [['prompt', `${vocabulary.map(oneLine).join(', ')}.`]];

const oneLine = (term: string): string => term.replace(/\s+/gu, ' ');

/** The body of `POST /audio/transcriptions`: the fields, then the audio as a WAV file. It can be sent more than once. */
export function transcriptionForm(fields: FormFields, pcm: Buffer): FormData {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  form.append('file', new Blob([wavHeader(pcm.length), pcm], { type: 'audio/wav' }), 'audio.wav');
  return form;
}

const HEADER_BYTES = 44;
const FORMAT_CHUNK_BYTES = 16;
const FORMAT_PCM = 1;
const CHANNELS = 1;

/** The RIFF header of a WAV file with this many bytes of PCM. */
function wavHeader(pcmBytes: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('RIFF', 0, 'ascii');
  header.writeUInt32LE(HEADER_BYTES - 8 + pcmBytes, 4);
  header.write('WAVEfmt ', 8, 'ascii');
  header.writeUInt32LE(FORMAT_CHUNK_BYTES, 16);
  header.writeUInt16LE(FORMAT_PCM, 20);
  header.writeUInt16LE(CHANNELS, 22);
  header.writeUInt32LE(SAMPLES_PER_SECOND, 24);
  header.writeUInt32LE(BYTES_PER_SECOND, 28);
  header.writeUInt16LE(BYTES_PER_SAMPLE, 32);
  header.writeUInt16LE(8 * BYTES_PER_SAMPLE, 34);
  header.write('data', 36, 'ascii');
  header.writeUInt32LE(pcmBytes, 40);
  return header;
}

async function readBounded(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES)
      throw Object.assign(new Error('The response is too long'), { code: 'RESPONSE_TOO_LONG' });
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

function first(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null;
}

/** Of the system or undici. */
function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  if (typeof code === 'string') return code;
  return error instanceof Error ? error.name : 'unknown';
}
