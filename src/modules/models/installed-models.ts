import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { errorCode, ignoreAbsent, sizeOf, syncFolder } from '../../platform/storage/file-system.js';
import type { Licence } from './catalogue-entries.js';
import { isStreamingModel, MODEL_RECORD } from './model-folder.js';
import { readAnyModel, readSpeakerModel, SPEAKER_KINDS, type SpeakerKind } from './speaker-model.js';

/** A name is a folder's: no separators, nothing hidden, and the same on file systems that ignore case. */
export const MODEL_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** What `MODEL_NAME` means, for messages. */
export const MODEL_NAME_RULE =
  '1 to 64 lower-case letters, digits, dots, hyphens and underscores, first a letter or digit';

/** Written into the model's folder as `model.json` when it was downloaded or added: what it is and what it must contain. */
export interface ModelRecord {
  name: string;
  title: string;
  kind: string;
  /** Lower-case English names; `any` when the files do not limit them. */
  languages: readonly string[] | 'any';
  licence: Licence | null;
  source: DownloadSource | FolderSource;
  files: readonly RecordedFile[];
  installed_at: string;
  /** When all files were last found to have their digests. */
  verified_at: string;
}

interface DownloadSource {
  /** Base address, without credentials. */
  address: string;
  repository: string;
  /** The commit. */
  revision: string;
}

interface FolderSource {
  /** From which it was copied. */
  folder: string;
}

export interface RecordedFile {
  name: string;
  bytes: number;
  sha256: string;
  /** The digest that the source published and that this file had. Null for a file that was added from a folder. */
  published: PublishedDigest | null;
}

/** Large files have a SHA-256 at Hugging Face, small ones the identifier that Git gives a file of this content. */
export interface PublishedDigest {
  algorithm: 'sha256' | 'git-sha1';
  value: string;
}

export interface InstalledModel {
  name: string;
  folder: string;
  bytes: number;
  isSelected: boolean;
  /** Null when its folder was not made by these commands. */
  record: ModelRecord | null;
}

/** A model cannot be found, selected or removed. For an operator. */
export class InstalledModelsError extends Error {
  override readonly name = 'InstalledModelsError';
}

/** Downloads in progress, and what is being removed. Hidden, so that it is never a model. */
const WORK = '.work';
const LOCKS = '.locks';

/** The folder of models (MODELS_FOLDER): each in a folder of its name, and a file that says which is in use. */
export class InstalledModels {
  readonly path: string;

  constructor(folder: string) {
    this.path = path.resolve(folder);
  }

  /** @throws InstalledModelsError when it is no name of a model */
  folderOf(name: string): string {
    if (!MODEL_NAME.test(name)) {
      throw new InstalledModelsError(`${JSON.stringify(name)} cannot be the name of a model: ${MODEL_NAME_RULE}.`);
    }
    return path.join(this.path, name);
  }

  /** Where the files of a model lie until it is complete: on the same file system as its folder. */
  workFolderOf(name: string): string {
    return path.join(this.path, WORK, path.basename(this.folderOf(name)));
  }

  lockOf(name: string): string {
    return path.join(this.path, LOCKS, path.basename(this.folderOf(name)));
  }

  async list(): Promise<InstalledModel[]> {
    const entries = await readdir(this.path, { withFileTypes: true }).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return [];
      throw new InstalledModelsError(`${this.path} cannot be read: ${errorCode(error) ?? String(error)}`);
    });
    const names = entries.filter((entry) => !entry.isFile() && MODEL_NAME.test(entry.name)).map(({ name }) => name);
    const models = await Promise.all(names.toSorted().map((name) => this.find(name)));
    return models.filter((model) => model !== null);
  }

  /** Null when it is not installed. */
  async find(name: string): Promise<InstalledModel | null> {
    const folder = this.folderOf(name);
    const sizes = await sizesIn(folder);
    if (sizes === null) return null;
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    const isSelected = SELECTIONS.some((selection) => selectedModel(this.path, selection) === name);
    return { name, folder, bytes, isSelected, record: await readModelRecord(folder) };
  }

  /** @throws InstalledModelsError when it is not installed */
  async get(name: string): Promise<InstalledModel> {
    const model = await this.find(name);
    if (model) return model;
    const installed = (await this.list()).map((one) => one.name);
    throw new InstalledModelsError(
      `The model ${name} is not in ${this.path}. ` +
        (installed.length > 0 ? `There: ${installed.join(', ')}. ` : '') +
        `Download it: npm run models -- pull ${name}`,
    );
  }

  /** A worker reads the name when it starts. */
  async select(name: string): Promise<void> {
    const { folder } = await this.get(name);
    await replaceFile(path.join(this.path, selectedFile(selectionFor(folder))), `${name}\n`);
    await syncFolder(this.path);
  }

  /** Puts a complete model into its place; one that was there before goes only then. */
  async install(name: string, record: ModelRecord): Promise<void> {
    const work = this.workFolderOf(name);
    await writeModelRecord(work, record);
    await syncFolder(work);
    const folder = this.folderOf(name);
    const before = `${work}.before`;
    await rm(before, { recursive: true, force: true });
    await rename(folder, before).catch(ignoreAbsent);
    await rename(work, folder);
    await syncFolder(this.path);
    await rm(before, { recursive: true, force: true });
  }

  /** @throws InstalledModelsError when it is not installed, or is the selected one and `force` is not given */
  async remove(name: string, { force = false } = {}): Promise<InstalledModel> {
    const model = await this.get(name);
    if (model.isSelected && !force) {
      throw new InstalledModelsError(`${name} is the selected model. Select another one first, or add --force.`);
    }
    const selections = SELECTIONS.filter((selection) => selectedModel(this.path, selection) === name);
    for (const selection of selections) await rm(path.join(this.path, selectedFile(selection)), { force: true });
    // Out of sight at once: a worker that starts now does not find half a model.
    const going = `${this.workFolderOf(name)}.removed`;
    await mkdir(path.dirname(going), { recursive: true });
    await rm(going, { recursive: true, force: true });
    await rename(model.folder, going);
    await rm(going, { recursive: true, force: true });
    return model;
  }
}

async function sizesIn(folder: string): Promise<number[] | null> {
  try {
    const names = await readdir(folder);
    const facts = await Promise.all(names.map((name) => stat(path.join(folder, name))));
    return facts.map((fact) => (fact.isFile() ? fact.size : 0));
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return null;
    throw new InstalledModelsError(`${folder} cannot be read: ${errorCode(error) ?? String(error)}`);
  }
}

/** Whole or not at all: a worker may be reading it. */
async function replaceFile(file: string, text: string): Promise<void> {
  const unfinished = path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}`);
  const handle = await open(unfinished, 'w');
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(unfinished, file);
}

/** What models are selected for, one each: the engine, words while one speaks, and the two kinds for speakers. */
type Selection = 'speech' | 'streaming' | SpeakerKind;
const SELECTIONS: readonly Selection[] = ['speech', 'streaming', ...SPEAKER_KINDS];

const selectionFor = (folder: string): Selection =>
  readSpeakerModel(folder)?.kind ?? (isStreamingModel(folder) ? 'streaming' : 'speech');

/** The file in the folder of models that names the one in use: `npm run models -- use NAME` writes it. */
const selectedFile = (selection: Selection): string => (selection === 'speech' ? 'selected' : `selected.${selection}`);

/** Name of the model in use; null when none was selected. Its folder has that name. */
export function selectedModel(modelsFolder: string, selection: Selection = 'speech'): string | null {
  try {
    const name = readFileSync(path.join(modelsFolder, selectedFile(selection)), 'utf8').trim();
    return MODEL_NAME.test(name) ? name : null;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}

export interface Verification {
  name: string;
  /** What is wrong, a sentence each. */
  problems: string[];
  files: number;
  bytes: number;
}

/** Reads every file of a model and compares it with the digest that was recorded when it was installed. */
export async function verifyModel({ name, folder, record }: InstalledModel): Promise<Verification> {
  if (record === null) {
    const problems = [`${MODEL_RECORD} is missing or damaged, so that nothing says what the files should be`];
    return { name, problems, files: 0, bytes: 0 };
  }
  const problems: string[] = [];
  for (const file of record.files) problems.push(...(await problemsOf(folder, file)));
  if (problems.length === 0) problems.push(...kindProblems(folder));
  if (problems.length === 0) {
    await writeModelRecord(folder, { ...record, verified_at: new Date().toISOString() });
  }
  const bytes = record.files.reduce((sum, file) => sum + file.bytes, 0);
  return { name, problems, files: record.files.length, bytes };
}

async function problemsOf(folder: string, { name, bytes, sha256 }: RecordedFile): Promise<string[]> {
  const file = path.join(folder, name);
  const size = await sizeOf(file);
  if (size === null) return [`${name} is missing`];
  if (size !== bytes) return [`${name} has ${size} bytes instead of ${bytes}`];
  const found = await digestOf(file, 'sha256');
  return found === sha256 ? [] : [`${name} has changed: SHA-256 ${found} instead of ${sha256}`];
}

function kindProblems(folder: string): string[] {
  try {
    readAnyModel(folder);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

/** In hexadecimal digits. */
export async function digestOf(
  file: string,
  algorithm: PublishedDigest['algorithm'],
  signal?: AbortSignal,
): Promise<string> {
  const hash =
    algorithm === 'sha256' ? createHash('sha256') : createHash('sha1').update(`blob ${await sizeOf(file)}\0`);
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) {
    signal?.throwIfAborted();
    hash.update(chunk as Buffer);
  }
  return hash.digest('hex');
}

/** Null for a folder without a record, such as one that was unpacked by hand. */
async function readModelRecord(folder: string): Promise<ModelRecord | null> {
  try {
    const record: unknown = JSON.parse(await readFile(path.join(folder, MODEL_RECORD), 'utf8'));
    return isRecord(record) ? record : null;
  } catch (error) {
    if (error instanceof SyntaxError || errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

async function writeModelRecord(folder: string, record: ModelRecord): Promise<void> {
  await replaceFile(path.join(folder, MODEL_RECORD), `${JSON.stringify(record, null, 2)}\n`);
}

/** Whether its files are there, by name and size. */
export async function isComplete(folder: string, { files }: ModelRecord): Promise<boolean> {
  const sizes = await Promise.all(files.map(({ name }) => sizeOf(path.join(folder, name))));
  return files.length > 0 && files.every(({ bytes }, index) => sizes[index] === bytes);
}

function isRecord(value: unknown): value is ModelRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { files, kind } = value as Partial<ModelRecord>;
  return typeof kind === 'string' && Array.isArray(files) && files.every(isFile);
}

function isFile(value: unknown): value is RecordedFile {
  if (typeof value !== 'object' || value === null) return false;
  const { name, bytes, sha256 } = value as Partial<RecordedFile>;
  return (
    typeof name === 'string' && path.basename(name) === name && typeof bytes === 'number' && typeof sha256 === 'string'
  );
}
