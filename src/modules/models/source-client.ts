import { type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { parseRetryAfter } from '../../platform/http/header-values.js';

/** Times in milliseconds. Tests shorten them. */
export interface DownloadTiming {
  connectMs: number;
  /** For the headers of a response, and between two parts of its body. */
  stallMs: number;
  /** The first pause after a failure; each next one is twice as long, up to `longestPauseMs`. */
  firstPauseMs: number;
  longestPauseMs: number;
  /** Longest pause that a source may ask for. */
  longestRetryAfterMs: number;
  /** Failures one after the other in which not a byte was received, the first included. */
  tries: number;
}

export const DOWNLOAD_TIMING: DownloadTiming = {
  connectMs: 15_000,
  stallMs: 30_000,
  firstPauseMs: 1000,
  longestPauseMs: 30_000,
  longestRetryAfterMs: 300_000,
  tries: 6,
};

/** A model could not be downloaded. The message is for an operator: what happened and what to do. */
export class SourceError extends Error {
  override readonly name: string = 'SourceError';
}

/** The same request may succeed later: a broken connection, 408, 429 or 5xx. */
export class TransientSourceError extends SourceError {
  override readonly name = 'TransientSourceError';

  constructor(
    message: string,
    /** The wait that the source asks for; null when it does not say. */
    readonly retryAfterMs: number | null = null,
    /** Nothing answered: no address, no route, or a connection that was refused or cut. */
    readonly isUnreachable = false,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

const MAX_REDIRECTS = 5;
/** A folder of 1,000 files takes 250 kB. */
const MAX_JSON_BYTES = 8 * 1024 * 1024;
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;
const TRANSIENT_STATUS = new Set([408, 425, 429]);

export interface SourceSettings {
  modelsUrl: string;
  hfToken: string | null;
}

export interface SourceResponse {
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  body: Dispatcher.ResponseData['body'];
}

/**
 * Speaks to Hugging Face or a mirror of it, through the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name. The token
 * goes to the source alone and never to the hosts that it redirects to.
 */
export class SourceClient {
  /** For messages and records: without credentials. */
  readonly address: string;
  private readonly base: URL;
  private readonly agent: Dispatcher;
  private readonly authorization: Record<string, string>;

  constructor(
    { modelsUrl, hfToken }: SourceSettings,
    readonly timing: DownloadTiming,
  ) {
    this.base = new URL(modelsUrl);
    this.address = `${this.base.origin}${this.base.pathname.replace(/(?<!\/)\/+$/, '')}`;
    this.authorization = authorizationOf(this.base, hfToken);
    // Explicitly, because NODE_TLS_REJECT_UNAUTHORIZED changes the default.
    const tls = { timeout: timing.connectMs, rejectUnauthorized: true };
    this.agent = new EnvHttpProxyAgent({ connect: tls, requestTls: tls, proxyTls: tls });
  }

  /** Resolves with any response of the statuses 200 to 299, and with 416. Its body must be read or dumped. */
  async open(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<SourceResponse> {
    let url = new URL(`${this.address}${path}`);
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const response = await this.request(url, headers, signal);
      const { statusCode: status } = response;
      const location = first(response.headers.location);
      if (status < 300 || status === 416) return { status, headers: response.headers, body: response.body };
      // Before the connection is used again.
      await response.body.dump({ limit: 64 * 1024 }).catch(() => undefined);
      if (status >= 400 || location === null) throw this.refusal(url, response);
      url = this.target(url, location);
    }
    throw new SourceError(`${this.address} redirects more than ${MAX_REDIRECTS} times.`);
  }

  async json(path: string, signal: AbortSignal): Promise<{ value: unknown; headers: SourceResponse['headers'] }> {
    const { body, headers } = await this.open(path, { accept: 'application/json' }, signal);
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > MAX_JSON_BYTES) throw new SourceError(`The answer of ${this.address} is too long.`);
        chunks.push(chunk);
      }
    } catch (error) {
      throw error instanceof SourceError ? error : this.broken(error);
    }
    try {
      return { value: JSON.parse(Buffer.concat(chunks).toString('utf8')), headers };
    } catch {
      throw new SourceError(`${this.address}${path} is not JSON: is MODELS_URL a mirror of Hugging Face?`);
    }
  }

  /** For an error of the connection. @param what happened; also a body may break off */
  broken(error: unknown, what = `No answer from ${this.address}`): TransientSourceError {
    const { code = null, message = '' } = (error ?? {}) as { code?: string; message?: string };
    const reason = code === null || code === 'UND_ERR_ABORTED' ? message || String(error) : code;
    return new TransientSourceError(`${what} (${reason})`, null, true, { cause: error });
  }

  async close(): Promise<void> {
    await this.agent.destroy();
  }

  private async request(url: URL, headers: Record<string, string>, signal: AbortSignal) {
    try {
      return await this.agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: 'GET',
        headers: {
          'user-agent': 'voice-note-transcription-service',
          'accept-encoding': 'identity',
          ...headers,
          ...(url.origin === this.base.origin ? this.authorization : {}),
        },
        headersTimeout: this.timing.stallMs,
        bodyTimeout: this.timing.stallMs,
        signal,
      });
    } catch (error) {
      signal.throwIfAborted();
      throw this.broken(error);
    }
  }

  private target(from: URL, location: string): URL {
    if (!URL.canParse(location, from.href)) throw new SourceError(`${this.address} redirects to no address.`);
    const to = new URL(location, from);
    const isPlain = to.protocol === 'http:' && from.protocol === 'http:';
    if (to.protocol === 'https:' || isPlain) return to;
    throw new SourceError(`${this.address} redirects to ${to.protocol}//${to.host}: only https is followed.`);
  }

  private refusal(url: URL, { statusCode: status, headers }: Dispatcher.ResponseData): SourceError {
    // The path may be signed after a redirect: only that of the source is named.
    const what = url.origin === this.base.origin ? `${url.origin}${url.pathname}` : url.origin;
    if (status >= 500 || TRANSIENT_STATUS.has(status)) {
      return new TransientSourceError(`${what} answers ${status}`, parseRetryAfter(first(headers['retry-after'])));
    }
    if (status === 401 || status === 403) {
      const hint = this.authorization.authorization
        ? 'The token in HF_TOKEN gives no access to it.'
        : 'It does not exist, or needs a token: set HF_TOKEN.';
      return new SourceError(`${what} answers ${status}. ${hint}`);
    }
    if (status === 404) return new SourceError(`${what} does not exist (404).`);
    return new SourceError(`${what} answers ${status}.`);
  }
}

export function first(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null;
}

function authorizationOf(
  { protocol, hostname, username, password }: URL,
  token: string | null,
): Record<string, string> {
  const isOpen = protocol === 'http:' && !LOOPBACK.test(hostname);
  if (isOpen && (token !== null || username !== '')) {
    throw new SourceError(
      'HF_TOKEN and credentials in MODELS_URL are sent by https only: MODELS_URL is a http: address.',
    );
  }
  if (token !== null) return { authorization: `Bearer ${token}` };
  if (username === '') return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}
