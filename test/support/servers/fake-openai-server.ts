import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import busboy from 'busboy';

/** What arrived in one call of `POST /v1/audio/transcriptions` or `/translations`. */
interface FakeCall {
  headers: IncomingHttpHeaders;
  /** Every value of every field, in the order sent. */
  fields: Record<string, string[]>;
  file: { name: string; type: string; bytes: Buffer } | null;
  /** Milliseconds, for the gaps between tries. */
  at: number;
}

/** An answer: status 200 and JSON unless said otherwise; `hang` sends nothing, `cut` breaks the connection. */
export interface FakeAnswer {
  status?: number;
  json?: unknown;
  text?: string;
  type?: string;
  headers?: Record<string, string>;
  behaviour?: 'hang' | 'hang-in-body' | 'cut' | 'flood';
}

type Answering = FakeAnswer | ((call: FakeCall) => FakeAnswer);

/** One sentence as whisper-1 answers it to `verbose_json` with both granularities. */
export const VERBOSE_ANSWER = {
  task: 'transcribe',
  language: 'english',
  duration: 2.4,
  text: 'Go forward ten meters.',
  segments: [
    {
      id: 0,
      seek: 0,
      start: 0,
      end: 2.4,
      text: ' Go forward ten meters.',
      tokens: [50364, 1037, 2128, 2064, 8146, 13],
      temperature: 0,
      avg_logprob: -0.2,
      compression_ratio: 0.8,
      no_speech_prob: 0.01,
    },
  ],
  words: [
    { word: 'Go', start: 0.3, end: 0.6 },
    { word: 'forward', start: 0.6, end: 1.1 },
    { word: 'ten', start: 1.1, end: 1.4 },
    { word: 'meters', start: 1.4, end: 2 },
  ],
};

/** Refuses `verbose_json` as OpenAI's newer models do, and answers `json` with a text and, when asked, logprobs. */
export function textOnly(text: string): (call: FakeCall) => FakeAnswer {
  return ({ fields }) => {
    if (fields.response_format?.[0] === 'verbose_json') return refuseFormat('response_format');
    const logprobs = fields['include[]'] ? [{ token: text, logprob: -0.1, bytes: [] }] : undefined;
    return { json: { text, logprobs, usage: { type: 'tokens', input_tokens: 14, output_tokens: 8 } } };
  };
}

export function refuseFormat(param: string): FakeAnswer {
  const message = `${param} is not compatible with model 'gpt-4o-transcribe'. Use 'json' or 'text' instead.`;
  return { status: 400, json: { error: { message, type: 'invalid_request_error', param, code: 'unsupported_value' } } };
}

/** A server of OpenAI's transcription protocol over real HTTP, whose answers a test decides. */
export class FakeOpenAiServer {
  readonly calls: FakeCall[] = [];
  /** For every call that no queued answer is for. */
  answer: Answering = { json: VERBOSE_ANSWER };
  /** To calls of `POST /v1/audio/translations`; null: the server has none, as most. */
  translations: FakeAnswer | null = null;
  readonly translationCalls: FakeCall[] = [];
  models: FakeAnswer = { json: { object: 'list', data: [] } };
  modelCalls = 0;
  private readonly queue: Answering[] = [];
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((request, response) => void this.serve(request, response));

  private constructor() {
    this.server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  static async start(): Promise<FakeOpenAiServer> {
    const fake = new FakeOpenAiServer();
    await new Promise<void>((listening) => fake.server.listen(0, '127.0.0.1', listening));
    return fake;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  /** One for each of the next calls. */
  next(...answers: Answering[]): void {
    this.queue.push(...answers);
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((closed) => this.server.close(closed));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET' && request.url === '/v1/models') {
      this.modelCalls += 1;
      return respond(response, this.models);
    }
    if (this.translations && request.url === '/v1/audio/translations') {
      this.translationCalls.push(await readCall(request));
      return respond(response, this.translations);
    }
    if (request.method !== 'POST' || request.url !== '/v1/audio/transcriptions') {
      return respond(response, { status: 404, json: { error: { message: `Invalid URL (${request.url})` } } });
    }
    const call = await readCall(request);
    this.calls.push(call);
    const answering = this.queue.shift() ?? this.answer;
    respond(response, typeof answering === 'function' ? answering(call) : answering);
  }
}

async function readCall(request: IncomingMessage): Promise<FakeCall> {
  const call: FakeCall = { headers: request.headers, fields: {}, file: null, at: Date.now() };
  await new Promise<void>((done, fail) => {
    const form = busboy({ headers: request.headers });
    form.on('field', (name, value) => (call.fields[name] ??= []).push(value));
    form.on('file', (_, stream, { filename, mimeType }) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on(
        'end',
        () => (call.file = { name: filename ?? '', type: mimeType ?? '', bytes: Buffer.concat(chunks) }),
      );
    });
    form.on('close', done).on('error', fail);
    request.on('error', fail);
    request.pipe(form);
  });
  return call;
}

function respond(response: ServerResponse, answer: FakeAnswer): void {
  if (answer.behaviour === 'hang') return;
  if (answer.behaviour === 'cut') return void response.socket?.destroy();
  const body = answer.text ?? JSON.stringify(answer.json ?? {});
  const type = answer.type ?? (answer.text === undefined ? 'application/json' : 'text/plain; charset=utf-8');
  response.writeHead(answer.status ?? 200, { 'content-type': type, ...answer.headers });
  if (answer.behaviour === 'hang-in-body') return void response.write(body.slice(0, body.length / 2));
  if (answer.behaviour === 'flood') return flood(response);
  response.end(body);
}

/** Never stops by itself. */
function flood(response: ServerResponse): void {
  const chunk = Buffer.alloc(1 << 20, ' ');
  const more = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', more).on('error', () => undefined);
  more();
}
