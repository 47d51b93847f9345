import { open, rm } from 'node:fs/promises';
import path from 'node:path';
import { pause } from '../../platform/concurrency/retry.js';
import { sizeOf } from '../../platform/storage/file-system.js';
import type { CatalogueEntry } from './catalogue-entries.js';
import { digestOf, type PublishedDigest } from './installed-models.js';
import { first, type SourceClient, SourceError, TransientSourceError } from './source-client.js';

/** What is to be downloaded, as the source states it at this moment. */
export interface DownloadPlan {
  repository: string;
  /** The commit: files of it never change. */
  revision: string;
  files: readonly PlannedFile[];
}

interface PlannedFile {
  /** In the repository. */
  path: string;
  /** In the model's folder. */
  name: string;
  bytes: number;
  digest: PublishedDigest;
}

export interface DownloadContext {
  client: SourceClient;
  signal: AbortSignal;
  /** Bytes that are on the disk now, of this file: more, or fewer when it starts anew. */
  onProgress: (bytes: number) => void;
  onRetry: (error: TransientSourceError, pauseMs: number) => void;
}

/** Taken if they are there: texts that a licence may ask to keep with the files, and the pieces of words for hot words. */
const EXTRAS = /^((LICEN[CS]E|NOTICE|README)(\.\w+)?|bpe\.vocab)$/i;
const MAX_EXTRA_BYTES = 1024 * 1024;
const MAX_PAGES = 20;
/** Without any answer the first request is given up sooner: most likely there is no network. */
const UNREACHABLE_TRIES = 3;

/** The content that arrived is not the one that the source announced. */
class WrongDigestError extends SourceError {
  override readonly name = 'WrongDigestError';
}

/**
 * Reads commit, sizes and digests from the API: https://huggingface.co/docs/hub/api.
 * @throws SourceError when the repository, the revision or a file is not there, or has no digest
 */
export async function planDownload(
  { repository, revision, files }: Pick<CatalogueEntry, 'repository' | 'revision' | 'files'>,
  context: DownloadContext,
): Promise<DownloadPlan> {
  return await retryTransient(
    async () => {
      const commit = await commitOf(repository, revision, context);
      const folders = [...new Set(['', ...files.map((file) => folderOf(file))])];
      const listed: PlannedFile[] = [];
      for (const folder of folders) listed.push(...(await listFolder(repository, commit, folder, context)));
      const wanted = files.map((file) => {
        const found = listed.find((one) => one.path === file);
        if (found) return found;
        const there = listed.map((one) => one.path).filter((one) => /\.(onnx|ort|txt|weights|data)$/.test(one));
        throw new SourceError(`${repository} at ${commit} has no file ${file}. There: ${there.join(', ') || 'none'}.`);
      });
      const extras = listed.filter((one) => EXTRAS.test(one.path) && one.bytes <= MAX_EXTRA_BYTES);
      return { repository, revision: commit, files: [...wanted, ...extras] };
    },
    () => 0,
    context,
  );
}

/**
 * Downloads one file, from where an earlier try ended, and checks its digest.
 * @param part where it is written: what is there must be the beginning of this file
 * @returns its SHA-256
 * @throws WrongDigestError after `part` was removed; SourceError; the signal's reason when it is aborted
 */
export async function downloadFile(
  { repository, revision }: DownloadPlan,
  { path: file, bytes, digest }: PlannedFile,
  part: string,
  context: DownloadContext,
): Promise<string> {
  const { client, signal, onProgress } = context;
  const name = `${repository}/${file}`;
  let received = (await sizeOf(part)) ?? 0;
  const count = (size: number): void => onProgress((received = size));
  count(received);
  await retryTransient(receiveRest, () => received, context);
  const sha256 = await digestOf(part, 'sha256', signal);
  const found = digest.algorithm === 'sha256' ? sha256 : await digestOf(part, digest.algorithm, signal);
  if (found === digest.value) return sha256;
  await rm(part);
  const algorithm = digest.algorithm === 'sha256' ? 'SHA-256' : 'Git SHA-1';
  throw new WrongDigestError(
    `${name} is not the file that the source announced, and was removed.\n` +
      `  ${algorithm} announced  ${digest.value}\n  ${algorithm} received   ${found}\n` +
      'Run the command again. If that does not help, a proxy or mirror on the way changes files.',
  );

  /** One request. */
  async function receiveRest(): Promise<void> {
    const handle = await open(part, 'a');
    try {
      if (received > bytes) await startAnew();
      // A run that was killed may have written all of it, and not have synced it.
      if (received === bytes) return await handle.sync();
      const range: Record<string, string> = received > 0 ? { range: `bytes=${received}-` } : {};
      const { status, headers, body } = await client.open(`/${repository}/resolve/${revision}/${file}`, range, signal);
      const contentRange = /^bytes (\d+)-.*\/(\d+)$/.exec(first(headers['content-range']) ?? '');
      const total = status === 206 ? contentRange?.[2] : status === 200 ? first(headers['content-length']) : null;
      if (total && Number(total) !== bytes) {
        body.destroy();
        throw new SourceError(`${name} has ${total} bytes there, but the source states ${bytes}.`);
      }
      const goesOn = status === 206 && Number(contentRange?.[1]) === received;
      // A server may know no ranges.
      if (!goesOn && received > 0) await startAnew();
      if (!goesOn && status !== 200) {
        body.destroy();
        throw new TransientSourceError(`${client.address} answers ${status} with another part of ${name}`);
      }
      for await (const chunk of connected(body)) {
        if (received + chunk.length > bytes)
          throw new SourceError(`${name} is longer than the ${bytes} bytes that the source states.`);
        await handle.appendFile(chunk);
        count(received + chunk.length);
      }
      if (received < bytes) throw new TransientSourceError(`The connection ended after ${received} of ${bytes} bytes`);
      await handle.sync();
    } finally {
      await handle.close();
    }

    async function startAnew(): Promise<void> {
      await handle.truncate(0);
      count(0);
    }
  }

  /** Errors of the connection, but not those of the disk, may pass. */
  async function* connected(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    try {
      yield* body;
    } catch (error) {
      signal.throwIfAborted();
      throw client.broken(error, 'The connection broke off');
    }
  }
}

/**
 * Repeats `work` after transient failures, until so many came one after the other without progress.
 * @throws the last error, or the signal's reason when it is aborted
 */
async function retryTransient<T>(
  work: () => Promise<T>,
  progress: () => number,
  { client: { timing }, signal, onRetry }: DownloadContext,
): Promise<T> {
  let failures = 0;
  for (let before = progress(); ; before = progress()) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TransientSourceError)) throw error;
      failures = progress() > before ? 1 : failures + 1;
      const isOffline = error.isUnreachable && progress() === 0;
      if (failures >= (isOffline ? Math.min(timing.tries, UNREACHABLE_TRIES) : timing.tries)) throw error;
      const doubled = Math.min(timing.firstPauseMs * 2 ** (failures - 1), timing.longestPauseMs);
      const pauseMs = Math.min(error.retryAfterMs ?? doubled, timing.longestRetryAfterMs);
      onRetry(error, pauseMs);
      await pause(pauseMs, signal);
    }
  }
}

async function commitOf(repository: string, revision: string, { client, signal }: DownloadContext): Promise<string> {
  const { value } = await client.json(`/api/models/${repository}/revision/${encodeURIComponent(revision)}`, signal);
  const { sha } = isObject(value) ? value : {};
  if (typeof sha === 'string' && /^[0-9a-f]{40}$/.test(sha)) return sha;
  throw new SourceError(`${client.address} does not say which commit ${revision} of ${repository} is.`);
}

async function listFolder(
  repository: string,
  commit: string,
  folder: string,
  { client, signal }: DownloadContext,
): Promise<PlannedFile[]> {
  const files: PlannedFile[] = [];
  let next: string | null = `/api/models/${repository}/tree/${commit}${folder === '' ? '' : `/${folder}`}`;
  for (let page = 0; next !== null && page < MAX_PAGES; page++) {
    const { value, headers } = await client.json(next, signal);
    if (!Array.isArray(value)) throw new SourceError(`${client.address}${next} is not a list of files.`);
    files.push(...value.flatMap((item: unknown) => fileOf(item) ?? []));
    next = nextPage(first(headers.link), client.address);
  }
  return files;
}

/** Null for a folder, and for a file without a digest that can be checked. */
function fileOf(item: unknown): PlannedFile | null {
  if (!isObject(item) || item.type !== 'file' || typeof item.path !== 'string') return null;
  const { lfs } = item;
  // The digest of a large file is that of its content; `oid` beside it is that of the pointer in Git.
  const large = isObject(lfs) && typeof lfs.oid === 'string' ? lfs.oid.replace(/^sha256:/, '') : null;
  const digest = large === null ? digestFrom('git-sha1', item.oid, 40) : digestFrom('sha256', large, 64);
  const bytes = isObject(lfs) && typeof lfs.size === 'number' ? lfs.size : item.size;
  if (digest === null || !Number.isSafeInteger(bytes) || (bytes as number) < 0) return null;
  return { path: item.path, name: path.posix.basename(item.path), bytes: bytes as number, digest };
}

function digestFrom(algorithm: PublishedDigest['algorithm'], value: unknown, length: number): PublishedDigest | null {
  const isDigest = typeof value === 'string' && value.length === length && /^[0-9a-f]+$/.test(value);
  return isDigest ? { algorithm, value } : null;
}

/** From `Link: <https://…>; rel="next"`, of the same source only. */
function nextPage(link: string | null, address: string): string | null {
  const [, url] = /<([^<>]+)>;\s*rel="?next"?/.exec(link ?? '') ?? [];
  return url?.startsWith(`${address}/`) ? url.slice(address.length) : null;
}

function folderOf(file: string): string {
  const folder = path.posix.dirname(file);
  return folder === '.' ? '' : folder;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
