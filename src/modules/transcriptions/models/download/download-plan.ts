import path from 'node:path';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.js';
import type { PublishedDigest } from '../model-record.js';
import { first, type SourceClient } from './source-client.js';
import { SourceError } from './source-error.js';

/** What is to be downloaded, as the source states it at this moment. */
export interface DownloadPlan {
  repository: string;
  /** The commit: files of it never change. */
  revision: string;
  files: readonly PlannedFile[];
}

export interface PlannedFile {
  /** In the repository. */
  path: string;
  /** In the model's folder. */
  name: string;
  bytes: number;
  digest: PublishedDigest;
}

/** Taken if they are there: texts that a licence may ask to keep with the files, and the pieces of words for hot words. */
const EXTRAS = /^((LICEN[CS]E|NOTICE|README)(\.\w+)?|bpe\.vocab)$/i;
const MAX_EXTRA_BYTES = 1024 * 1024;
const MAX_PAGES = 20;

/**
 * Reads commit, sizes and digests from the API: https://huggingface.co/docs/hub/api.
 * @throws SourceError when the repository, the revision or a file is not there, or has no digest
 */
export async function planDownload(
  client: SourceClient,
  { repository, revision, files }: Pick<CatalogueEntry, 'repository' | 'revision' | 'files'>,
  signal: AbortSignal,
): Promise<DownloadPlan> {
  const commit = await commitOf(client, repository, revision, signal);
  const folders = [...new Set(['', ...files.map((file) => folderOf(file))])];
  const listed: PlannedFile[] = [];
  for (const folder of folders) listed.push(...(await listFolder(client, repository, commit, folder, signal)));
  const wanted = files.map((file) => {
    const found = listed.find((one) => one.path === file);
    if (found) return found;
    const there = listed.map((one) => one.path).filter((one) => /\.(onnx|ort|txt|weights|data)$/.test(one));
    throw new SourceError(`${repository} at ${commit} has no file ${file}. There: ${there.join(', ') || 'none'}.`);
  });
  const extras = listed.filter((one) => EXTRAS.test(one.path) && one.bytes <= MAX_EXTRA_BYTES);
  return { repository, revision: commit, files: [...wanted, ...extras] };
}

async function commitOf(
  client: SourceClient,
  repository: string,
  revision: string,
  signal: AbortSignal,
): Promise<string> {
  const { value } = await client.json(`/api/models/${repository}/revision/${encodeURIComponent(revision)}`, signal);
  const { sha } = isObject(value) ? value : {};
  if (typeof sha === 'string' && /^[0-9a-f]{40}$/.test(sha)) return sha;
  throw new SourceError(`${client.address} does not say which commit ${revision} of ${repository} is.`);
}

async function listFolder(
  client: SourceClient,
  repository: string,
  commit: string,
  folder: string,
  signal: AbortSignal,
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
  const digest: PublishedDigest | null =
    large === null ? gitDigest(item.oid) : /^[0-9a-f]{64}$/.test(large) ? { algorithm: 'sha256', value: large } : null;
  const bytes = isObject(lfs) && typeof lfs.size === 'number' ? lfs.size : item.size;
  if (digest === null || !Number.isSafeInteger(bytes) || (bytes as number) < 0) return null;
  return { path: item.path, name: path.posix.basename(item.path), bytes: bytes as number, digest };
}

function gitDigest(oid: unknown): PublishedDigest | null {
  return typeof oid === 'string' && /^[0-9a-f]{40}$/.test(oid) ? { algorithm: 'git-sha1', value: oid } : null;
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
