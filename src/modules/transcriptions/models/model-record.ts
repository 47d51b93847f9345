import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { errorCode, sizeOf } from '../../../platform/storage/file-system.js';
import type { Licence } from './catalogue/catalogue-entry.js';
import { MODEL_RECORD } from './model-kind.js';

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

/** Null for a folder without a record, such as one that was unpacked by hand. */
export async function readModelRecord(folder: string): Promise<ModelRecord | null> {
  try {
    const record: unknown = JSON.parse(await readFile(path.join(folder, MODEL_RECORD), 'utf8'));
    return isRecord(record) ? record : null;
  } catch (error) {
    if (error instanceof SyntaxError || errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Whole or not at all: a worker may be reading it. */
export async function writeModelRecord(folder: string, record: ModelRecord): Promise<void> {
  const unfinished = path.join(folder, `.${MODEL_RECORD}.${process.pid}`);
  await writeFile(unfinished, `${JSON.stringify(record, null, 2)}\n`);
  await rename(unfinished, path.join(folder, MODEL_RECORD));
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
