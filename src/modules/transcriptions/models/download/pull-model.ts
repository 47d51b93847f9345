import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { errorCode, freeBytesOf, sizeOf } from '../../../../platform/storage/file-system.js';
import { languagesOf } from '../catalogue/catalogue.js';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.js';
import { readModelFolder } from '../model-kind.js';
import { isComplete, type ModelRecord, type RecordedFile } from '../model-record.js';
import type { ModelsFolder } from '../models-folder.js';
import { type DownloadPlan, planDownload } from './download-plan.js';
import { type DownloadContext, downloadFile } from './file-download.js';
import { withFileLock } from './file-lock.js';
import { retryTransient } from './retries.js';
import { SourceError } from './source-error.js';

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

/** In the folder of a download: what its files will be. */
const PLAN_FILE = '.plan.json';
/** Stays free beside the files. */
const RESERVE_BYTES = 64 * 1024 * 1024;

/**
 * Downloads a model and puts it into its place once all its files are complete, have the published digests and make up a
 * model. What an interrupted run received is kept for the next one.
 */
export async function pullModel(
  models: ModelsFolder,
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
    const plan = await planWithRetries(entry, context);
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

async function planWithRetries(entry: CatalogueEntry, context: PullContext): Promise<DownloadPlan> {
  let plan: DownloadPlan | undefined;
  const read = async () => {
    plan = await planDownload(context.client, entry, context.signal);
    return true;
  };
  await retryTransient(read, () => 0, context);
  if (!plan) throw new SourceError(`${context.client.address} gave no answer.`);
  return plan;
}

async function download(
  models: ModelsFolder,
  entry: CatalogueEntry,
  plan: DownloadPlan,
  context: PullContext,
): Promise<ModelRecord> {
  const work = models.workFolderOf(entry.name);
  await mkdir(work, { recursive: true });
  await keepWhatFits(work, plan);
  await requireSpace(work, plan, context.freeBytes ?? freeBytesOf);
  const total = plan.files.reduce((sum, { bytes }) => sum + bytes, 0);
  const files: RecordedFile[] = [];
  let before = 0;
  for (const { name, bytes, digest, ...file } of plan.files) {
    const onProgress = (received: number): void => context.onProgress(before + received, total);
    const sha256 = await downloadFile(plan, { name, bytes, digest, ...file }, work, { ...context, onProgress });
    files.push({ name, bytes, sha256, published: digest });
    before += bytes;
  }
  await rm(path.join(work, PLAN_FILE));
  const kind = await kindOf(work);
  const record = recordOf(entry, plan, kind, files, context.client.address);
  await models.install(entry.name, record);
  return record;
}

/** A folder of complete files that is no model would otherwise be kept for ever. */
async function kindOf(work: string): Promise<string> {
  try {
    return readModelFolder(work).kind;
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

/** Keeps files of an earlier run that the source still has with the same digest. */
async function keepWhatFits(work: string, plan: DownloadPlan): Promise<void> {
  const earlier = new Map((await readPlan(work)).map(({ name, digest }) => [name, digest.value]));
  const same = plan.files.filter(({ name, digest }) => earlier.get(name) === digest.value);
  const kept = new Set(same.flatMap(({ name }) => [name, `${name}.part`, `${name}.etag`]));
  const others = (await readdir(work)).filter((name) => !kept.has(name));
  await Promise.all(others.map((name) => rm(path.join(work, name), { recursive: true, force: true })));
  await writeFile(path.join(work, PLAN_FILE), JSON.stringify(plan.files));
}

async function readPlan(work: string): Promise<DownloadPlan['files']> {
  try {
    return JSON.parse(await readFile(path.join(work, PLAN_FILE), 'utf8')) as DownloadPlan['files'];
  } catch (error) {
    if (error instanceof SyntaxError || errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

async function requireSpace(
  work: string,
  { files }: DownloadPlan,
  freeBytes: (folder: string) => Promise<number>,
): Promise<void> {
  const missing = await Promise.all(
    files.map(async ({ name, bytes }) => {
      const file = path.join(work, name);
      return Math.max(bytes - Math.max((await sizeOf(file)) ?? 0, (await sizeOf(`${file}.part`)) ?? 0), 0);
    }),
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
