import { createReadStream } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ignoreAbsent } from '../../../../platform/storage/file-system.js';
import { ContentDigest } from './content-digest.js';
import type { DownloadPlan, PlannedFile } from './download-plan.js';
import { type DownloadTiming, retryTransient } from './retries.js';
import { first, type SourceClient, type SourceResponse } from './source-client.js';
import { TransientSourceError, SourceError } from './source-error.js';

export interface DownloadContext {
  client: SourceClient;
  timing: DownloadTiming;
  signal: AbortSignal;
  /** Bytes that are on the disk now, of this file: more, or fewer when it starts anew. */
  onProgress: (bytes: number) => void;
  onRetry: (error: TransientSourceError, pauseMs: number) => void;
}

/** The content that arrived is not the one that the source announced. */
class WrongDigestError extends SourceError {
  override readonly name = 'WrongDigestError';
}

/**
 * Downloads one file into `folder`, from where an earlier try ended, and checks its digest.
 * @returns its SHA-256
 * @throws WrongDigestError after the file was removed; SourceError; the signal's reason when it is aborted
 */
export async function downloadFile(
  plan: DownloadPlan,
  file: PlannedFile,
  folder: string,
  context: DownloadContext,
): Promise<string> {
  const download = new FileDownload(plan, file, folder, context);
  return await download.run();
}

class FileDownload {
  private readonly target: string;
  private readonly part: string;
  /** Beside the part: what If-Range must say when it is continued. */
  private readonly tagFile: string;
  private digest;
  private received = 0;

  constructor(
    private readonly plan: DownloadPlan,
    private readonly file: PlannedFile,
    folder: string,
    private readonly context: DownloadContext,
  ) {
    this.target = path.join(folder, file.name);
    this.part = `${this.target}.part`;
    this.tagFile = `${this.target}.etag`;
    this.digest = new ContentDigest(file.bytes);
  }

  async run(): Promise<string> {
    // Complete since an earlier run: checked again, because nothing says what happened to it since.
    await rename(this.target, this.part).catch(ignoreAbsent);
    const handle = await open(this.part, 'a+');
    try {
      await this.readPart(handle);
      const { timing, signal, onRetry } = this.context;
      const work = () => this.receive(handle);
      if (this.received < this.file.bytes) await retryTransient(work, () => this.received, { timing, signal, onRetry });
      await handle.sync();
    } finally {
      await handle.close();
    }
    return await this.finish();
  }

  /** What an earlier run received counts. */
  private async readPart(handle: FileHandle): Promise<void> {
    const { size } = await stat(this.part);
    if (size > this.file.bytes) return await this.startAnew(handle);
    for await (const chunk of createReadStream(this.part, { highWaterMark: 1 << 20, end: Math.max(size - 1, 0) })) {
      this.context.signal.throwIfAborted();
      this.count(chunk as Buffer);
    }
  }

  /** One request. @returns whether the file is complete */
  private async receive(handle: FileHandle): Promise<boolean> {
    const { client, signal } = this.context;
    const address = `/${this.plan.repository}/resolve/${this.plan.revision}/${this.file.path}`;
    const response = await client.open(address, await this.rangeHeaders(), signal);
    if (!(await this.accept(response, handle))) return false;
    await this.rememberTag(first(response.headers.etag));
    for await (const chunk of this.chunksOf(response.body)) {
      if (this.received + chunk.length > this.file.bytes)
        throw new SourceError(`${this.named} is longer than the ${this.file.bytes} bytes that the source states.`);
      await handle.appendFile(chunk);
      this.count(chunk);
    }
    if (this.received === this.file.bytes) return true;
    throw new TransientSourceError(`The connection ended after ${this.received} of ${this.file.bytes} bytes`);
  }

  /** Errors of the connection alone, not those of the disk, may pass. */
  private async *chunksOf(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    try {
      yield* body;
    } catch (error) {
      this.context.signal.throwIfAborted();
      throw this.context.client.broken(error, 'The connection broke off');
    }
  }

  private async rangeHeaders(): Promise<Record<string, string>> {
    if (this.received === 0) return {};
    const tag = await readFile(this.tagFile, 'utf8').catch(ignoreAbsent);
    return { range: `bytes=${this.received}-`, ...(tag ? { 'if-range': tag } : {}) };
  }

  /** Whether the body goes on where the part ends. If not, the part was emptied and the next request starts anew. */
  private async accept({ status, headers, body }: SourceResponse, handle: FileHandle): Promise<boolean> {
    const total =
      status === 206 ? /\/(\d+)$/.exec(first(headers['content-range']) ?? '')?.[1] : first(headers['content-length']);
    if (status !== 416 && total !== undefined && total !== null && Number(total) !== this.file.bytes) {
      body.destroy();
      throw new SourceError(`${this.named} has ${total} bytes there, but the source states ${this.file.bytes}.`);
    }
    const start = /^bytes (\d+)-/.exec(first(headers['content-range']) ?? '')?.[1];
    if (status === 206 && Number(start) === this.received) return true;
    // The file changed, or the server knows no ranges.
    if (this.received > 0) await this.startAnew(handle);
    if (status === 200) return true;
    await body.dump({ limit: 64 * 1024 }).catch(() => undefined);
    if (status === 416) return false;
    throw new TransientSourceError(
      `${this.context.client.address} answers ${status} with another part of ${this.named}`,
    );
  }

  private count(chunk: Buffer): void {
    this.digest.update(chunk);
    this.received += chunk.length;
    this.context.onProgress(this.received);
  }

  private async startAnew(handle: FileHandle): Promise<void> {
    await handle.truncate(0);
    await rm(this.tagFile, { force: true });
    this.digest = new ContentDigest(this.file.bytes);
    this.received = 0;
    this.context.onProgress(0);
  }

  /** A weak one does not promise the same bytes (RFC 9110 §13.1.5). */
  private async rememberTag(tag: string | null): Promise<void> {
    if (tag === null || tag.startsWith('W/')) await rm(this.tagFile, { force: true });
    else await writeFile(this.tagFile, tag);
  }

  private async finish(): Promise<string> {
    const digests = this.digest.end();
    const { algorithm, value } = this.file.digest;
    await rm(this.tagFile, { force: true });
    if (digests[algorithm] !== value) {
      await rm(this.part, { force: true });
      const name = algorithm === 'sha256' ? 'SHA-256' : 'Git SHA-1';
      throw new WrongDigestError(
        `${this.named} is not the file that the source announced, and was removed.\n` +
          `  ${name} announced  ${value}\n  ${name} received   ${digests[algorithm]}\n` +
          'Run the command again. If that does not help, a proxy or mirror on the way changes files.',
      );
    }
    await rename(this.part, this.target);
    return digests.sha256;
  }

  private get named(): string {
    return `${this.plan.repository}/${this.file.path}`;
  }
}
