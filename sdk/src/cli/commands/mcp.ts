import { SseParser } from '../../events/sse-parser.js';
import { ApiError } from '../../http/errors.js';
import { type ApiRequest, Transport } from '../../http/transport.js';
import type { Context } from '../context.js';

type Id = string | number | null;

/** A message of JSON-RPC 2.0, as far as it matters here. */
interface Message {
  id?: Id;
  method?: string;
  params?: {
    protocolVersion?: unknown;
    name?: unknown;
    uri?: unknown;
    requestId?: Id;
    _meta?: Record<string, unknown>;
  };
  result?: { protocolVersion?: unknown };
  error?: object;
}

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const SERVER_ERROR = -32_000;
/** Longer than a tool of the service takes. */
const TIMEOUT_MS = 120_000;
const HEADER_TEXT = /^[\x21-\x7e]{1,200}$/;

/**
 * A server of the Model Context Protocol on standard input and output: passes each message on to that of the service,
 * with the credentials of the profile. Ends when the input ends and everything was answered.
 */
export async function serveMcp(context: Context): Promise<void> {
  const { url, key, secret } = await context.connection();
  const bridge = new Bridge(new Transport({ baseUrl: url, key, secret, timeout: TIMEOUT_MS }), (line) => {
    process.stdout.write(`${line}\n`);
  });
  const open = new Set<Promise<void>>();
  for await (const line of linesOf(process.stdin)) {
    if (line.trim() === '') continue;
    const answered = bridge.pass(line).finally(() => open.delete(answered));
    open.add(answered);
  }
  await Promise.all(open);
}

/** Not readline: that also ends lines at U+2028, which may stand in a message. */
async function* linesOf(input: NodeJS.ReadStream): AsyncGenerator<string> {
  let pending = '';
  for await (const chunk of input.setEncoding('utf8') as AsyncIterable<string>) {
    const [first = '', ...others] = chunk.split('\n');
    pending += first;
    for (const next of others) {
      yield pending;
      pending = next;
    }
  }
  yield pending;
}

class Bridge {
  /** As it was negotiated: later messages name it in a header. */
  private version: string | null = null;
  private readonly underWay = new Map<Id, AbortController>();

  constructor(
    private readonly transport: Transport,
    private readonly print: (line: string) => void,
  ) {}

  /** Never throws: what goes wrong is the answer. */
  async pass(line: string): Promise<void> {
    const message = messageOf(line);
    if (typeof message === 'number') {
      this.answer(null, message, 'Each line must be one message of JSON-RPC 2.0.');
      return;
    }
    const { id } = message;
    if (message.method === 'notifications/cancelled') this.underWay.get(message.params?.requestId ?? null)?.abort();
    const cancelled = new AbortController();
    if (id !== undefined) this.underWay.set(id, cancelled);
    try {
      await this.send(message, line, cancelled.signal);
    } catch (error) {
      if (cancelled.signal.aborted) return;
      await this.answerWith(id, error);
    } finally {
      if (id !== undefined) this.underWay.delete(id);
    }
  }

  private async send(message: Message, line: string, signal: AbortSignal): Promise<void> {
    const { transport } = this;
    const headers = this.headersOf(message);
    const request: ApiRequest = { method: 'POST', path: '/mcp', isOutsideV1: true, headers, signal };
    // A tool that changes something may have done so: only what the service has not begun is sent again.
    const { text, headers: got } = await transport.retrying(() => transport.answer(request, { body: line }), {
      mayRepeat: false,
      signal,
    });
    if (text === '') return;
    const isStream = /^text\/event-stream/i.test(got.get('content-type') ?? '');
    const answers = isStream ? new SseParser().push(new TextEncoder().encode(text)).map(({ data }) => data) : [text];
    for (const answer of answers) if (answer) this.deliver(message, answer);
  }

  private headersOf({ method, params }: Message): Record<string, string> {
    const named = params?._meta?.[VERSION_KEY] ?? (method === 'initialize' ? null : this.version);
    const name = params?.name ?? params?.uri;
    const told = { 'MCP-Protocol-Version': named, 'Mcp-Method': method, 'Mcp-Name': name };
    const sendable = Object.entries(told).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && HEADER_TEXT.test(entry[1]),
    );
    const accept = 'application/json, text/event-stream';
    return { 'Content-Type': 'application/json', Accept: accept, ...Object.fromEntries(sendable) };
  }

  private deliver(question: Message, text: string): void {
    const answer = JSON.parse(text) as Message;
    const version = question.method === 'initialize' ? answer.result?.protocolVersion : undefined;
    if (typeof version === 'string') this.version = version;
    // On one line, whatever a proxy has made of it.
    this.print(JSON.stringify(answer));
  }

  private async answerWith(id: Id | undefined, error: unknown): Promise<void> {
    const { explain } = await import('../explain-error.js');
    // The service says in its own words what it refuses.
    const { message } = error instanceof ApiError ? error : explain(error);
    // A notification has no answer.
    if (id === undefined) process.stderr.write(`${message}\n`);
    else this.answer(id, rpcCodeOf(error), message);
  }

  private answer(id: Id, code: number, message: string): void {
    this.print(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }));
  }
}

/** @returns the code of the error when it is none. */
function messageOf(line: string): Message | number {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    return PARSE_ERROR;
  }
  const isObject = typeof message === 'object' && message !== null && !Array.isArray(message);
  return isObject ? (message as Message) : INVALID_REQUEST;
}

/** The service refuses what it does not read as a message in the form of JSON-RPC: then the code is one of it. */
function rpcCodeOf(error: unknown): number {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'number' && code < 0 ? code : SERVER_ERROR;
}
