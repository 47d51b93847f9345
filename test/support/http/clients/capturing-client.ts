import { exchange } from './raw-http.js';

interface Call {
  method?: string;
  headers?: Record<string, string>;
  /** JSON, a form, or text as it stands. */
  body?: object | string | FormData;
}

/** An answer, with what may be told of it to anybody: everything but the body of a success. */
interface CapturedResponse {
  status: number;
  requestId: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- as supertest gives it
  body: any;
}

/** A client that keeps what must hold no secret: bodies of errors, headers of all answers, and their ids. */
export class CapturingClient {
  readonly requestIds: string[] = [];
  /** Answers so far, by status. */
  readonly statuses = new Set<number>();
  private readonly noted: string[] = [];

  constructor(readonly url: string) {}

  /** What may be shown to anybody. */
  get shown(): string {
    return this.noted.join('\n');
  }

  async call(path: string, { method = 'GET', headers = {}, body }: Call = {}): Promise<CapturedResponse> {
    const isJson = typeof body === 'object' && !(body instanceof FormData);
    const type = isJson || typeof body === 'string' ? { 'Content-Type': 'application/json' } : undefined;
    const answer = await fetch(this.url + path, {
      method,
      headers: { ...type, ...headers },
      body: isJson ? JSON.stringify(body) : body,
      redirect: 'manual',
    });
    const text = await answer.text();
    return this.note(answer.status, Object.fromEntries(answer.headers), text);
  }

  /** Bytes as no client library would send them. */
  async raw(...wire: (Buffer | string)[]): Promise<CapturedResponse> {
    const { status, headers, text } = await exchange(this.url, ...wire);
    return this.note(status, headers, text);
  }

  /** What Node's parser refuses before it is a request: nothing is logged of it. */
  async unparsable(wire: string): Promise<void> {
    this.noted.push((await exchange(this.url, wire)).text);
  }

  private note(status: number, headers: Record<string, string>, text: string): CapturedResponse {
    const requestId = headers['x-request-id'] ?? '';
    this.statuses.add(status);
    this.requestIds.push(requestId);
    this.noted.push(JSON.stringify(headers));
    if (status >= 400) this.noted.push(text);
    const isJson = headers['content-type']?.startsWith('application/json');
    const body = isJson && text !== '' ? JSON.parse(text) : text;
    if (isJson) this.noted.push(...urisIn(body));
    return { status, requestId, body };
  }
}

function urisIn(value: unknown): string[] {
  if (typeof value === 'string') return value.startsWith('/v1/') ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(urisIn) : [];
}
