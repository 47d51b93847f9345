import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** What goes wrong with one answer to a request for a file's content. A `cut` waits for {@link ModelSource.noteRead}. */
export type Fault =
  | { kind: 'cut'; afterBytes: number }
  | { kind: 'stall'; afterBytes: number }
  | { kind: 'wrong-bytes' }
  | { kind: 'no-ranges' }
  | { kind: 'status'; status: number; retryAfter?: string };

interface Repository {
  commit: string;
  files: ReadonlyMap<string, Buffer>;
}

interface SeenRequest {
  host: 'source' | 'content';
  url: string;
  headers: IncomingMessage['headers'];
}

/** Large files lie outside Git: their digest is a SHA-256 and another host serves them. */
const isLarge = (name: string): boolean => /\.(onnx|ort)$/.test(name);

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const gitSha1 = (bytes: Buffer): string =>
  createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');

/**
 * Speaks what the downloader uses of Hugging Face's API: a commit for a revision, the files of a commit with sizes and
 * digests, and their content, for large files by a redirect to another host with ranges and entity tags.
 */
export class ModelSource {
  readonly requests: SeenRequest[] = [];
  /** For the next requests for the content of large files, in this order. */
  readonly faults: Fault[] = [];
  /** For the next requests to the API. */
  readonly apiFaults: Fault[] = [];
  /** Refuses requests without it. */
  token: string | null = null;
  /** Pause after every 16 kB of content, so that a test can act in the middle. */
  pauseMs = 0;
  /** Files in one page of a listing. */
  pageSize = Infinity;
  private readonly repositories = new Map<string, Repository>();
  private readonly contents = new Map<string, Buffer>();
  /** Of the file's content that was asked for last, what the client has. */
  private bytesRead = 0;
  private readonly reads = new EventEmitter();

  private constructor(
    private readonly source: Server,
    private readonly content: Server,
  ) {}

  static async start(): Promise<ModelSource> {
    const [source, content] = [createServer(), createServer()];
    const server = new ModelSource(source, content);
    source.on('request', (request, response) => server.answer('source', request, response));
    content.on('request', (request, response) => server.answer('content', request, response));
    for (const one of [source, content]) {
      one.listen(0, '127.0.0.1');
      await once(one, 'listening');
    }
    return server;
  }

  get url(): string {
    return urlOf(this.source);
  }

  /** A new commit of a repository with these files only. @returns the commit */
  publish(repository: string, files: Readonly<Record<string, Buffer | string>>): string {
    const buffers = new Map(Object.entries(files).map(([name, bytes]) => [name, Buffer.from(bytes)]));
    const tree = [...buffers].map(([name, bytes]) => `${name} ${sha256(bytes)}`).join('\n');
    const commit = createHash('sha1').update(tree).digest('hex');
    this.repositories.set(repository, { commit, files: buffers });
    for (const bytes of buffers.values()) this.contents.set(sha256(bytes), bytes);
    return commit;
  }

  /** Ranges that were asked for, in order; null: the whole file. */
  get ranges(): (string | null)[] {
    return this.requests.filter(({ host }) => host === 'content').map(({ headers }) => headers.range ?? null);
  }

  /** The client has so many bytes of the file. */
  noteRead(bytes: number): void {
    this.bytesRead = bytes;
    this.reads.emit('read');
  }

  async close(): Promise<void> {
    for (const server of [this.source, this.content]) {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    }
  }

  private answer(host: SeenRequest['host'], request: IncomingMessage, response: ServerResponse): void {
    const url = request.url ?? '';
    this.requests.push({ host, url, headers: request.headers });
    const served =
      host === 'source' ? this.answerSource(url, request, response) : this.answerContent(url, request, response);
    served.catch(() => response.destroy());
  }

  private async answerSource(url: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, repository = '', what, revision = '', rest = ''] =
      /^\/(?:api\/models\/)?([\w.-]+\/[\w.-]+)\/(revision|tree|resolve)\/([\w.-]+)\/?([^?]*)/.exec(url) ?? [];
    const found = this.repositories.get(repository);
    if (this.token !== null && request.headers.authorization !== `Bearer ${this.token}`) {
      return sendJson(response, 401, { error: 'Invalid username or password.' });
    }
    if (!found) return sendJson(response, 401, { error: 'Repository not found' });
    if (![found.commit, 'main'].includes(revision)) return sendJson(response, 404, { error: 'Revision not found' });
    if (what === 'resolve') return this.resolve(found, rest, response);
    const fault = this.apiFaults.shift();
    if (fault?.kind === 'status') return sendStatus(response, fault);
    if (what === 'revision') return sendJson(response, 200, { id: repository, sha: found.commit });
    const all = listing(found, rest);
    const start = Number(new URL(url, this.url).searchParams.get('from') ?? 0);
    const end = start + this.pageSize;
    if (end < all.length) {
      const next = new URL(url, this.url);
      next.searchParams.set('from', String(end));
      response.setHeader('Link', `<${next.href}>; rel="next"`);
    }
    return sendJson(response, 200, all.slice(start, end));
  }

  private resolve({ commit, files }: Repository, name: string, response: ServerResponse): void {
    const bytes = files.get(name);
    response.setHeader('X-Repo-Commit', commit);
    if (!bytes) return sendJson(response, 404, { error: 'Entry not found' });
    if (!isLarge(name)) return void response.writeHead(200, { ETag: `"${gitSha1(bytes)}"` }).end(bytes);
    const location = `${urlOf(this.content)}/${sha256(bytes)}?Signature=s3cret`;
    response.writeHead(302, {
      Location: location,
      'X-Linked-Size': bytes.length,
      'X-Linked-Etag': `"${sha256(bytes)}"`,
    });
    response.end('Found');
  }

  private async answerContent(url: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const digest = path.posix.basename(new URL(url, this.url).pathname);
    const bytes = this.contents.get(digest);
    if (!bytes) return sendJson(response, 404, {});
    const fault = this.faults.shift();
    if (fault?.kind === 'status') return sendStatus(response, fault);
    const etag = `"${digest}"`;
    const start = fault?.kind === 'no-ranges' ? 0 : startOf(request, etag);
    const total = bytes.length;
    if (start >= total && total > 0) return void response.writeHead(416, { 'Content-Range': `bytes */${total}` }).end();
    const range = start > 0 ? { 'Content-Range': `bytes ${start}-${total - 1}/${total}` } : {};
    response.writeHead(start > 0 ? 206 : 200, { ETag: etag, 'Content-Length': total - start, ...range });
    this.bytesRead = start;
    await this.send(bytes.subarray(start), fault, response);
    if (fault?.kind === 'cut') await this.cut(start + fault.afterBytes, response);
  }

  private async send(bytes: Buffer, fault: Fault | undefined, response: ServerResponse): Promise<void> {
    const sent = fault?.kind === 'wrong-bytes' ? Buffer.from(bytes.map((byte) => byte ^ 1)) : bytes;
    const end = fault && 'afterBytes' in fault ? fault.afterBytes : sent.length;
    for (let position = 0; position < end; position += 16_384) {
      response.write(sent.subarray(position, Math.min(position + 16_384, end)));
      if (this.pauseMs > 0) await delay(this.pauseMs);
    }
    if (fault === undefined || !('afterBytes' in fault)) response.end();
  }

  /** What has arrived but was not read yet would be lost with the connection. */
  private async cut(end: number, response: ServerResponse): Promise<void> {
    while (this.bytesRead < end) await once(this.reads, 'read');
    response.destroy();
  }
}

function listing({ files }: Repository, folder: string): object[] {
  const inFolder = [...files].filter(([name]) => path.posix.dirname(name) === (folder || '.'));
  return inFolder.map(([name, bytes]) => ({
    type: 'file',
    path: name,
    size: bytes.length,
    oid: isLarge(name) ? gitSha1(Buffer.from(`oid sha256:${sha256(bytes)}`)) : gitSha1(bytes),
    ...(isLarge(name) ? { lfs: { oid: sha256(bytes), size: bytes.length, pointerSize: 134 } } : {}),
  }));
}

/** First byte that is asked for; 0 when the file is another one than If-Range names. */
function startOf({ headers }: IncomingMessage, etag: string): number {
  const [, start] = /^bytes=(\d+)-$/.exec(headers.range ?? '') ?? [];
  const isSame = headers['if-range'] === undefined || headers['if-range'] === etag;
  return start !== undefined && isSame ? Number(start) : 0;
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

function sendStatus(response: ServerResponse, { status, retryAfter }: Extract<Fault, { kind: 'status' }>): void {
  response.writeHead(status, retryAfter === undefined ? {} : { 'Retry-After': retryAfter }).end('not now');
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
