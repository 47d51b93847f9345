import { Client, type Dispatcher } from 'undici';
import { MAX_FILE_BYTES } from '../../../platform/audio-formats.js';
import { pause } from '../../../platform/concurrency/retry.js';
import { parseRetryAfter } from '../../../platform/http/header-values.js';
import { type AllowedNetworks, checkOutgoingUrl } from '../../../platform/http/outgoing/address-rules.js';
import { checkedConnector, resolveHost } from '../../../platform/http/outgoing/checked-connector.js';
import type { Egress } from '../../../platform/http/outgoing/egress.js';
import {
  MAX_HEADER_BYTES,
  OutgoingRequestError,
  ProxyFailedError,
} from '../../../platform/http/outgoing/outgoing-error.js';
import type { Spool, SpoolFile } from '../../../platform/storage/spool.js';
import { LINK_ERRORS, LinkError, type LinkOutcome, toLinkError } from './link-error.js';
import { nameInDisposition } from './link-name.js';

export interface DownloadOptions {
  resolve: (name: string) => Promise<string[]>;
  /** A host name without a usable address fails after a multiple of this time. */
  nameErrorMs: number;
  /** For DNS, connection and TLS handshake together. */
  connectMs: number;
  /** From the request to the response headers. */
  headersMs: number;
  /** Between two parts of the body. */
  stallMs: number;
  /** Before a broken download is resumed. */
  resumeMs: number;
}

export const DOWNLOAD_DEFAULTS: DownloadOptions = {
  resolve: resolveHost,
  nameErrorMs: 1000,
  connectMs: 5000,
  headersMs: 15_000,
  stallMs: 15_000,
  resumeMs: 1000,
};

export interface DownloadedFile {
  file: SpoolFile;
  /** As the last answer names it; null if it does not. */
  filename: string | null;
}

const USER_AGENT = 'VoiceNoteTranscription-Links/1';
const MAX_REDIRECTS = 5;
/** Of one attempt. */
const MAX_RESUMES = 5;
/** How a connection breaks off. */
const BROKEN: ReadonlySet<LinkOutcome> = new Set<LinkOutcome>(['reset', 'timeout', 'connect']);
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Another part than the one that was asked for; request timeout, another file by now than the one to resume, too early, too many requests. */
const TEMPORARY = new Set([206, 408, 412, 416, 425, 429]);
/** A host can delay the next attempt by at most an hour. */
const MAX_RETRY_AFTER_MS = 3_600_000;
const CONTENT_RANGE = /^bytes (\d+)-\d+\/(\d+|\*)$/;

type Answer = Dispatcher.ResponseData;

/** Fetches a link into the spool: one attempt, which is resumed where the connection breaks off. */
export class LinkDownload {
  private file: SpoolFile | null = null;
  /** Identifies what the host has sent so far, for `If-Range`; null: it cannot be resumed. */
  private validator: string | null = null;
  private client: Client | null = null;

  constructor(
    private readonly spool: Spool,
    private readonly way: { allowed: AllowedNetworks; egress: Egress },
    private readonly options: DownloadOptions,
    /** Ends the attempt; its reason is thrown. */
    private readonly signal: AbortSignal,
  ) {}

  /** The caller discards the file; when this throws, nothing is left. @throws LinkError, StorageUnavailableError */
  async run(url: string): Promise<DownloadedFile> {
    try {
      for (let resumes = 0; ; resumes++) {
        const before = this.file?.sizeBytes ?? 0;
        try {
          return await this.receive(await this.request(url));
        } catch (error) {
          this.signal.throwIfAborted();
          if (!(error instanceof LinkError)) throw error;
          if (!this.isResumable(error, before) || resumes === MAX_RESUMES) throw await this.judged(url, error);
          await pause(this.options.resumeMs, this.signal);
        }
      }
    } catch (error) {
      await this.file?.discard();
      throw error;
    } finally {
      await this.client?.destroy();
    }
  }

  /** A failure of the connection may be one of our proxy, which is no attempt at the link. */
  private async judged(url: string, error: LinkError): Promise<unknown> {
    return BROKEN.has(error.outcome) ? await this.way.egress.judge(url, error) : error;
  }

  /** Whether the connection broke off while it made progress. */
  private isResumable({ outcome }: LinkError, before: number): boolean {
    return BROKEN.has(outcome) && this.validator !== null && (this.file?.sizeBytes ?? 0) > before;
  }

  /** The answer behind all redirects, each of which is checked. */
  private async request(link: string): Promise<{ answer: Answer; timer: PhaseTimer }> {
    let url = link;
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      const { answer, timer } = await this.send(url);
      if (!REDIRECTS.has(answer.statusCode)) return { answer, timer };
      timer.stop();
      await this.client?.destroy();
      url = redirectedUrl(answer, url);
    }
    throw LINK_ERRORS.redirects();
  }

  private async send(url: string): Promise<{ answer: Answer; timer: PhaseTimer }> {
    const refusal = checkOutgoingUrl(url, this.way.allowed, { httpsOnly: true });
    if (refusal !== null) throw toLinkError(new OutgoingRequestError('refused_address', refusal));
    const { origin, pathname, search } = new URL(url);
    const timer = new PhaseTimer(this.signal);
    this.client = this.connect(origin, timer);
    try {
      const path = pathname + search;
      const answer = await this.client.request({ path, method: 'GET', headers: this.headers(), signal: timer.signal });
      // Without a listener the error of a body that nobody reads would end the process.
      answer.body.on('error', () => undefined);
      timer.next(this.options.stallMs);
      return { answer, timer };
    } catch (error) {
      timer.stop();
      const cause: unknown = timer.signal.aborted ? timer.signal.reason : error;
      throw cause instanceof ProxyFailedError ? cause : toLinkError(cause);
    }
  }

  private connect(origin: string, timer: PhaseTimer): Client {
    const { resolve, nameErrorMs, connectMs, headersMs } = this.options;
    const connect = checkedConnector({ ...this.way, resolve, nameErrorMs, signal: timer.signal });
    timer.next(connectMs);
    return new Client(origin, {
      connect: (options, callback) =>
        connect(options, (...result: Parameters<typeof callback>) => {
          timer.next(headersMs);
          callback(...result);
        }),
      // The timer limits every phase; undici's own timeouts cover only some.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
  }

  private headers(): Record<string, string> {
    const common = { 'User-Agent': USER_AGENT, Accept: 'audio/*, */*;q=0.1', 'Accept-Encoding': 'identity' };
    const size = this.file?.sizeBytes ?? 0;
    if (size === 0 || this.validator === null) return common;
    return { ...common, Range: `bytes=${size}-`, 'If-Range': this.validator };
  }

  private async receive({ answer, timer }: { answer: Answer; timer: PhaseTimer }): Promise<DownloadedFile> {
    try {
      const file = await this.fileFor(answer);
      try {
        for await (const chunk of answer.body as AsyncIterable<Buffer>) {
          if (file.sizeBytes + chunk.length > MAX_FILE_BYTES) throw LINK_ERRORS.tooLarge();
          await file.write(chunk).catch((error: unknown) => Promise.reject(new WriteError(error)));
          timer.next(this.options.stallMs);
        }
      } catch (error) {
        if (error instanceof WriteError) throw error.reason;
        throw toLinkError(timer.signal.aborted ? timer.signal.reason : error);
      }
      return { file, filename: nameInDisposition(headerOf(answer, 'content-disposition')) };
    } finally {
      timer.stop();
      await this.client?.destroy();
    }
  }

  /** The file so far if the answer goes on with it, else a new one: a host may have no ranges, or another file by now. */
  private async fileFor(answer: Answer): Promise<SpoolFile> {
    const { statusCode } = answer;
    const range = CONTENT_RANGE.exec(headerOf(answer, 'content-range') ?? '');
    if (statusCode === 206 && this.file && Number(range?.[1]) === this.file.sizeBytes) {
      if (Number(range?.[2]) > MAX_FILE_BYTES) throw LINK_ERRORS.tooLarge();
      return this.file;
    }
    if (statusCode !== 200) throw statusError(answer);
    if (Number(headerOf(answer, 'content-length') ?? 0) > MAX_FILE_BYTES) throw LINK_ERRORS.tooLarge();
    if (/^\s*(text\/html|application\/xhtml\+xml)\b/i.test(headerOf(answer, 'content-type') ?? '')) {
      throw LINK_ERRORS.webPage();
    }
    await this.file?.discard();
    this.file = await this.spool.create();
    this.validator = validatorOf(answer);
    return this.file;
  }
}

/** An error of the spool, not of the link. */
class WriteError {
  constructor(readonly reason: unknown) {}
}

/** Ends a request when its present phase lasts too long, or with the signal of the attempt. */
class PhaseTimer {
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly attempt: AbortSignal) {
    attempt.addEventListener('abort', this.abort);
    if (attempt.aborted) this.abort();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** The present phase has ended; the next one may last this long. */
  next(ms: number): void {
    clearTimeout(this.timer);
    const tooLong = (): void => this.controller.abort(new OutgoingRequestError('timeout', `nothing within ${ms} ms`));
    this.timer = setTimeout(tooLong, ms);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.attempt.removeEventListener('abort', this.abort);
  }

  private readonly abort = (): void => this.controller.abort(this.attempt.reason);
}

function redirectedUrl(answer: Answer, from: string): string {
  const location = headerOf(answer, 'location') ?? '';
  if (location === '' || !URL.canParse(location, from)) throw LINK_ERRORS.redirects();
  const url = new URL(location, from);
  // A fragment is not sent to the host.
  url.hash = '';
  return url.href;
}

/** A strong entity tag, else the time of the last change (RFC 9110 §13.1.5). */
function validatorOf(answer: Answer): string | null {
  const tag = headerOf(answer, 'etag');
  return tag?.startsWith('"') ? tag : (headerOf(answer, 'last-modified') ?? null);
}

function statusError(answer: Answer): LinkError {
  const { statusCode } = answer;
  const isTemporary = statusCode >= 500 || TEMPORARY.has(statusCode);
  const askedMs = parseRetryAfter(headerOf(answer, 'retry-after')) ?? 0;
  return LINK_ERRORS.status(statusCode, isTemporary ? { afterMs: Math.min(askedMs, MAX_RETRY_AFTER_MS) } : null);
}

const headerOf = ({ headers }: Answer, name: string): string | undefined => [headers[name]].flat()[0];
