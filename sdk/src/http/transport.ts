import { ConnectionError, errorOf, TimeoutError } from './errors.js';
import { delayBefore, isRetryable, sleep } from './retry.js';

/** How long to wait, how often to try and when to give up. */
export interface RequestOptions {
  /** Ends the request, its retries and their waits. */
  signal?: AbortSignal | undefined;
  /** Milliseconds for one attempt, until its answer is complete. */
  timeout?: number | undefined;
  /** Attempts after the first. */
  maxRetries?: number | undefined;
}

export interface ClientOptions {
  /** Where the service is: `https://notes.example.com`, with or without `/v1`. */
  baseUrl: string;
  /** Both halves of an API key, or one access token of an end user. */
  key?: string;
  secret?: string;
  token?: string;
  /** Milliseconds for one attempt of a request; 30,000 by default. Uploads have no limit but the service's. */
  timeout?: number;
  /** Attempts after the first; 3 by default. */
  maxRetries?: number;
  /** For a proxy, or a test. */
  fetch?: typeof fetch;
  /** Told of each answer, for a display of the limits. */
  onResponse?: (response: Response) => void;
}

type QueryValue = string | number | boolean | Record<string, string> | null | undefined;
export type Query = Record<string, QueryValue>;

export interface ApiRequest extends RequestOptions {
  method: string;
  /** Below `/v1`, beginning with a slash. */
  path: string;
  query?: Query | undefined;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string> | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_RETRIES = 3;

/** Sends requests with the credentials, repeats them while that makes sense, and turns refusals into errors. */
export class Transport {
  readonly origin: string;
  readonly maxRetries: number;
  readonly timeout: number;

  constructor(private readonly options: ClientOptions) {
    this.origin = options.baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
    this.maxRetries = options.maxRetries ?? DEFAULT_RETRIES;
    this.timeout = options.timeout ?? DEFAULT_TIMEOUT_MS;
  }

  /** The credentials as headers. */
  get authorization(): Record<string, string> {
    const { key, secret, token } = this.options;
    if (token) return { Authorization: `Bearer ${token}` };
    if (key && secret) return { 'X-Service-API-Key': key, 'X-Service-API-Secret': secret };
    return {};
  }

  urlOf(path: string, query: Query = {}): string {
    const search = searchOf(query);
    return `${this.origin}/v1${path}${search && `?${search}`}`;
  }

  /** @returns the parsed body; undefined for an answer without one */
  async json<T>(request: ApiRequest): Promise<T> {
    return await this.send(request, async (response) => {
      const text = await response.text();
      return (text === '' ? undefined : JSON.parse(text)) as T;
    });
  }

  async text(request: ApiRequest): Promise<string> {
    return await this.send(request, (response) => response.text());
  }

  /** The answer with its headers, its body not read yet: the time-out ends with the headers. */
  async raw(request: ApiRequest): Promise<Response> {
    return await this.send(request, (response) => Promise.resolve(response));
  }

  /** Repeats `attempt` while it fails for a cause that may pass. */
  async retrying<T>(attempt: () => Promise<T>, options: RequestOptions & { mayRepeat?: boolean } = {}): Promise<T> {
    const attempts = 1 + (options.maxRetries ?? this.maxRetries);
    for (let n = 1; ; n += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (n >= attempts || options.signal?.aborted || !isRetryable(error, options.mayRepeat ?? true)) throw error;
        await sleep(delayBefore(error, n), options.signal);
      }
    }
  }

  /** One attempt. @throws ApiError, ConnectionError, TimeoutError, or the reason of an aborted signal */
  async once<T>(request: ApiRequest, init: RequestInit, read: (response: Response) => Promise<T>): Promise<T> {
    const timeout = request.timeout ?? this.timeout;
    const limit = new AbortController();
    const timer = timeout > 0 ? setTimeout(() => limit.abort(), timeout) : undefined;
    const signals = [limit.signal, ...(request.signal ? [request.signal] : [])];
    try {
      const response = await this.fetch(this.urlOf(request.path, request.query), {
        method: request.method,
        ...init,
        headers: { ...this.authorization, ...(init.headers as Record<string, string>), ...request.headers },
        signal: AbortSignal.any(signals),
      });
      this.options.onResponse?.(response);
      if (!response.ok) throw await errorOf(response);
      return await read(response);
    } catch (error) {
      if (request.signal?.aborted) throw request.signal.reason;
      if (limit.signal.aborted) throw new TimeoutError(`No answer within ${timeout} ms.`, { cause: error });
      throw isNetworkFault(error)
        ? new ConnectionError(`Cannot reach ${this.origin}.`, { cause: error })
        : (error as Error);
    } finally {
      clearTimeout(timer);
    }
  }

  private get fetch(): typeof fetch {
    return this.options.fetch ?? globalThis.fetch;
  }

  private async send<T>(request: ApiRequest, read: (response: Response) => Promise<T>): Promise<T> {
    const init: RequestInit =
      request.body === undefined
        ? {}
        : { body: JSON.stringify(request.body), headers: { 'Content-Type': 'application/json' } };
    // A POST whose answer was lost may have created something: it is repeated only when the service says it did not.
    const mayRepeat = request.method !== 'POST';
    return await this.retrying(() => this.once(request, init, read), { ...request, mayRepeat });
  }
}

/** fetch reports every fault of the network as a TypeError; a body that breaks off is one too. */
function isNetworkFault(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof DOMException && error.name === 'NetworkError');
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
