import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { errorCode, freeBytesOf, sizeOf } from '../../platform/storage/file-system.js';
import { languagesOf } from './catalogue.js';
import type { CatalogueEntry } from './catalogue-entries.js';
import { type DownloadContext, downloadFile, type DownloadPlan, planDownload } from './download.js';
import { withFileLock } from './file-lock.js';
import { type InstalledModels, isComplete, type ModelRecord, type RecordedFile } from './installed-models.js';
import { SourceError } from './source-client.js';
import { readAnyModel } from './speaker-model.js';

export interface PullContext extends Omit<DownloadContext, 'onProgress'> {
  /** Bytes of all files, including what earlier runs received. */
  onProgress: (received: number, total: number) => void;
  onWait: (holder: string) => void;
  /** Reads the source even if the model is there, and replaces it if the source has another one. */
  update?: boolean;
  /** Free bytes of the file system of a folder. */
  freeBytes?: (folder: string) => Promise<number>;
}

export interface PulledModel {
  record: ModelRecord;
  /** False when it was there already. */
  isNew: boolean;
}

/** Stays free beside the files. */
const RESERVE_BYTES = 64 * 1024 * 1024;

/**
 * Downloads a model and puts it into its place once all its files are complete, have the published digests and make up a
 * model. What an interrupted run received is kept for the next one.
 */
export async function pullModel(
  models: InstalledModels,
  entry: CatalogueEntry,
  context: PullContext,
): Promise<PulledModel> {
  const { signal, onWait, update = false } = context;
  return await withFileLock(models.lockOf(entry.name), { signal, onWait }, async () => {
    const present = (await models.find(entry.name))?.record ?? null;
    if (
      present !== null &&
      !update &&
      !isFromElsewhere(present, entry) &&
      (await isComplete(models.folderOf(entry.name), present))
    )
      return { record: present, isNew: false };
    const plan = await planDownload(entry, { ...context, onProgress: () => undefined });
    if (present !== null && isSame(present, plan) && (await isComplete(models.folderOf(entry.name), present)))
      return { record: present, isNew: false };
    try {
      return { record: await download(models, entry, plan, context), isNew: true };
    } catch (error) {
      const code = errorCode(error);
      if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
      const advice = 'Free space and run the command again: it continues with what was received.';
      throw new SourceError(`The disk of ${models.path} is full. ${advice}`, { cause: error });
    }
  });
}

async function download(
  models: InstalledModels,
  entry: CatalogueEntry,
  plan: DownloadPlan,
  context: PullContext,
): Promise<ModelRecord> {
  const work = models.workFolderOf(entry.name);
  await mkdir(work, { recursive: true });
  // The name has the digest, so that a part of an earlier run is continued only if the source still has this file.
  const parts = plan.files.map((file) => ({ file, part: path.join(work, `${file.name}.${file.digest.value}.part`) }));
  await removeOthers(work, new Set(parts.map(({ part }) => path.basename(part))));
  await requireSpace(work, parts, context.freeBytes ?? freeBytesOf);
  const total = plan.files.reduce((sum, { bytes }) => sum + bytes, 0);
  const files: RecordedFile[] = [];
  let before = 0;
  for (const { file, part } of parts) {
    const onProgress = (received: number): void => context.onProgress(before + received, total);
    const sha256 = await downloadFile(plan, file, part, { ...context, onProgress });
    files.push({ name: file.name, bytes: file.bytes, sha256, published: file.digest });
    before += file.bytes;
  }
  for (const { file, part } of parts) await rename(part, path.join(work, file.name));
  const kind = await kindOf(work);
  const record = recordOf(entry, plan, kind, files, context.client.address);
  await models.install(entry.name, record);
  return record;
}

/** A folder of complete files that is no model would otherwise be kept for ever. */
async function kindOf(work: string): Promise<string> {
  try {
    return readAnyModel(work).kind;
  } catch (error) {
    await rm(work, { recursive: true, force: true });
    throw error;
  }
}

function recordOf(
  entry: CatalogueEntry,
  { repository, revision }: DownloadPlan,
  kind: string,
  files: readonly RecordedFile[],
  address: string,
): ModelRecord {
  const now = new Date().toISOString();
  return {
    name: entry.name,
    title: entry.title,
    kind,
    languages: languagesOf(entry),
    licence: entry.licence,
    source: { address, repository, revision },
    files,
    installed_at: now,
    verified_at: now,
  };
}

/** The operator's catalogue may give a name to another repository. What was added from a folder stays. */
function isFromElsewhere({ source }: ModelRecord, { repository }: CatalogueEntry): boolean {
  return 'repository' in source && source.repository !== repository;
}

function isSame({ source, files }: ModelRecord, plan: DownloadPlan): boolean {
  const known = new Map(files.map(({ name, published }) => [name, published?.value]));
  return (
    'repository' in source &&
    source.repository === plan.repository &&
    plan.files.every(({ name, digest }) => known.get(name) === digest.value)
  );
}

async function removeOthers(work: string, kept: ReadonlySet<string>): Promise<void> {
  const others = (await readdir(work)).filter((name) => !kept.has(name));
  await Promise.all(others.map((name) => rm(path.join(work, name), { recursive: true, force: true })));
}

async function requireSpace(
  work: string,
  parts: readonly { file: { bytes: number }; part: string }[],
  freeBytes: (folder: string) => Promise<number>,
): Promise<void> {
  const missing = await Promise.all(
    parts.map(async ({ file, part }) => Math.max(file.bytes - ((await sizeOf(part)) ?? 0), 0)),
  );
  const needed = missing.reduce((sum, bytes) => sum + bytes, 0) + RESERVE_BYTES;
  const free = await freeBytes(work);
  if (free >= needed) return;
  throw new SourceError(
    `The disk of ${path.dirname(path.dirname(work))} has ${megabytes(free)} free, and ${megabytes(needed)} are needed. ` +
      'Free space, or set MODELS_FOLDER to a folder on another disk.',
  );
}

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6).toLocaleString('en')} MB`;
