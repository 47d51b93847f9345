import { type Answer, errorOf, jsonOf, textOf } from './answer.js';
import type { ClientOptions, RequestOptions } from './client-options.js';
import { Deadline } from './deadline.js';
import { ApiError, ConnectionError, InvalidResponseError, VoiceNotesError } from './errors.js';
import { delayBefore, isRetryable, sleep } from './retry.js';
import { VERSION } from './version.js';

type QueryValue = string | number | boolean | Record<string, string> | null | undefined;
export type Query = Record<string, QueryValue>;

export interface ApiRequest extends RequestOptions {
  method: string;
  /** Below `/v1`, beginning with a slash. */
  path: string;
  /** The path stands beside `/v1`, not below it. */
  isOutsideV1?: true | undefined;
  query?: Query | undefined;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string> | undefined;
  /** Whether it may be sent twice. By default all may but POST. */
  mayRepeat?: boolean | undefined;
}

interface RetryOptions extends RequestOptions {
  mayRepeat?: boolean | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_RETRIES = 3;
/** Pages keep the name of their browser; no service allows other origins to set another. */
const USER_AGENT: Record<string, string> = isBrowser() ? {} : { 'User-Agent': `vnotes/${VERSION}` };

/** Sends requests with the credentials, repeats them while that makes sense, and turns refusals into errors. */
export class Transport {
  /** Without `/v1`. */
  readonly origin: string;
  readonly maxRetries: number;
  readonly timeout: number;

  constructor(readonly options: ClientOptions) {
    if (!/^https?:\/\/[^/]/i.test(options.baseUrl)) {
      throw new TypeError('baseUrl must be the address of the service, such as https://notes.example.com');
    }
    this.origin = options.baseUrl.replace(/(?<!\/)\/+$/, '').replace(/\/v1$/, '');
    this.maxRetries = options.maxRetries ?? DEFAULT_RETRIES;
    this.timeout = options.timeout ?? DEFAULT_TIMEOUT_MS;
  }

  urlOf(path: string, query: Query = {}): string {
    const search = searchOf(query);
    return `${this.origin}/v1${path}${search && `?${search}`}`;
  }

  /** Those of a request, with the credentials. @throws VoiceNotesError */
  headersOf(more: Record<string, string> = {}): Headers {
    const { key, secret, token, headers } = this.options;
    const credentials = {
      ...(key && { 'X-Service-API-Key': key.trim() }),
      ...(secret && { 'X-Service-API-Secret': secret.trim() }),
      ...(token && { Authorization: `Bearer ${token.trim()}` }),
    };
    try {
      return new Headers({ ...USER_AGENT, ...credentials, ...headers, ...more });
    } catch (cause) {
      throw new VoiceNotesError('Credentials or headers have characters that no header can hold.', {
        cause,
      });
    }
  }

  /** @returns the parsed body; undefined for an answer without one */
  async json<T>(request: ApiRequest): Promise<T> {
    return await this.send(request, async () => jsonOf(await this.answer(request)) as T);
  }

  /** As `json`, with the headers. */
  async jsonWithHeaders(request: ApiRequest): Promise<{ value: unknown; headers: Headers }> {
    return await this.send(request, async () => {
      const answer = await this.answer(request);
      return { value: jsonOf(answer), headers: answer.headers };
    });
  }

  async text(request: ApiRequest): Promise<string> {
    return await this.send(request, async () => textOf(await this.answer(request)));
  }

  /** The next page of a list, by the path that the page before names. */
  async follow<T>(uri: string, options: RequestOptions = {}): Promise<T> {
    return await this.json<T>({ ...options, method: 'GET', path: uri.replace(/^\/v1/, '') });
  }

  /** The response with a body that is not read yet: the time-out ends with the headers. */
  async raw(request: ApiRequest): Promise<Response> {
    return await this.send(request, async () => {
      const deadline = new Deadline(null, request.timeout ?? this.timeout);
      const signal = request.signal ? AbortSignal.any([request.signal, deadline.signal]) : deadline.signal;
      try {
        return await this.respond(request, {}, signal);
      } finally {
        deadline.end();
      }
    });
  }

  /** Repeats `attempt`, which gets its number from 1, while it fails for a cause that may pass. */
  async retrying<T>(attempt: (number: number) => Promise<T>, options: RetryOptions = {}): Promise<T> {
    const attempts = 1 + (options.maxRetries ?? this.maxRetries);
    for (let n = 1; ; n += 1) {
      options.signal?.throwIfAborted();
      try {
        return await attempt(n);
      } catch (error) {
        if (n >= attempts || options.signal?.aborted || !isRetryable(error, options.mayRepeat ?? true)) throw error;
        await sleep(delayBefore(error, n), options.signal);
      }
    }
  }

  /**
   * One attempt, until the headers of its response.
   * @throws ApiError, ConnectionError, InvalidResponseError, or the reason of the signal
   */
  async respond(request: ApiRequest, init: RequestInit, signal: AbortSignal): Promise<Response> {
    const url = request.isOutsideV1 ? `${this.origin}${request.path}` : this.urlOf(request.path, request.query);
    const headers = this.headersOf({ ...(init.headers as Record<string, string>), ...request.headers });
    // Called without `this`: browsers refuse a fetch that is called as a method of something else.
    const { fetch = globalThis.fetch } = this.options;
    // A redirect is not followed: the next host would get the secret.
    const sent = { redirect: 'manual' as const, ...init, method: request.method, headers, signal };
    const response = await this.reached(fetch(url, sent), signal);
    this.options.onResponse?.(response);
    if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
      const location = response.headers.get('location');
      throw new InvalidResponseError(`${this.origin} redirects${location ? ` to ${location}` : ''}. Correct baseUrl.`);
    }
    if (response.ok) return response;
    throw errorOf({ status: response.status, headers: response.headers, text: await textIfAny(response) });
  }

  /** One attempt with the whole answer. @param init what `fetch` takes beside the request */
  async answer(
    request: ApiRequest,
    init: RequestInit = bodyOf(request),
    deadline = this.deadlineOf(request),
  ): Promise<Answer> {
    try {
      const { signal } = deadline;
      const response = await this.respond(request, init, signal);
      const text = await this.reached(response.text(), signal);
      return { status: response.status, headers: response.headers, text };
    } finally {
      deadline.end();
    }
  }

  private deadlineOf({ signal, timeout }: RequestOptions): Deadline {
    return new Deadline(signal, timeout ?? this.timeout);
  }

  /** Whatever the platform throws while it waits for the network is a lost connection, unless we ended it. */
  async reached<T>(waiting: Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await waiting;
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      throw new ConnectionError(`The connection to ${this.origin} failed.`, { cause });
    }
  }

  private async send<T>(request: ApiRequest, attempt: () => Promise<T>): Promise<T> {
    // A POST whose answer was lost may have created something: it is repeated only when the service says it did not.
    const mayRepeat = request.mayRepeat ?? request.method !== 'POST';
    let mayBeDone = false;
    const once = async (): Promise<T> => {
      try {
        return await attempt();
      } catch (error) {
        if (request.method === 'DELETE' && mayBeDone && isNotFound(error)) return undefined as T;
        mayBeDone ||= !(error instanceof ApiError) || error.status >= 500;
        throw error;
      }
    };
    return await this.retrying(once, { ...request, mayRepeat });
  }
}

/** Node, Deno, Bun and edge runtimes name themselves, or have no navigator. */
function isBrowser(): boolean {
  return (globalThis.navigator?.userAgent ?? '').startsWith('Mozilla/');
}

const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.status === 404;

/** What is wrong is said by the status, if the body breaks off. */
const textIfAny = (response: Response): Promise<string> => response.text().catch(() => '');

function bodyOf({ body }: ApiRequest): RequestInit {
  if (body === undefined) return {};
  return { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
}

/** `tags` becomes `tag.{key}={value}`; what is undefined or null is left out. */
function searchOf(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    if (typeof value !== 'object') search.append(name, String(value));
    else for (const [key, tag] of Object.entries(value)) search.append(`tag.${key}`, tag);
  }
  return search.toString();
}
