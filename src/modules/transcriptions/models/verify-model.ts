import path from 'node:path';
import { sizeOf } from '../../../platform/storage/file-system.js';
import { sha256Of } from './download/content-digest.js';
import { MODEL_RECORD, readModelFolder } from './model-kind.js';
import { type RecordedFile, writeModelRecord } from './model-record.js';
import type { InstalledModel } from './models-folder.js';

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
  const found = await sha256Of(file);
  return found === sha256 ? [] : [`${name} has changed: SHA-256 ${found} instead of ${sha256}`];
}

function kindProblems(folder: string): string[] {
  try {
    readModelFolder(folder);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}
