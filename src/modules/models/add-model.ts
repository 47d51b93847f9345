import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { freeBytesOf } from '../../platform/storage/file-system.js';
import { withFileLock } from './file-lock.js';
import {
  digestOf,
  type InstalledModels,
  InstalledModelsError,
  type ModelRecord,
  type RecordedFile,
} from './installed-models.js';
import { MODEL_RECORD } from './model-folder.js';
import { readAnyModel } from './speaker-model.js';

interface AddOptions {
  name: string;
  /** Lower-case English names; null: what the model's files say, else any. */
  languages: readonly string[] | null;
  signal: AbortSignal;
  onWait: (holder: string) => void;
}

/** Weights in another precision, and what the exporters leave beside a model. */
const LEFT_OUT = /^\.|\.(onnx|ort|wav|py|sh|pt|ckpt|part)$/i;

/**
 * Copies a model from a folder, which may then go. Links would break with it, and the sandbox of the recogniser shows it
 * only the folder of models. File systems that can share the blocks of two files do.
 * @throws ModelError when the folder holds no complete model
 */
export async function addModel(models: InstalledModels, source: string, options: AddOptions): Promise<ModelRecord> {
  const { name, signal, onWait } = options;
  const { kind, files, languages } = readAnyModel(path.resolve(source));
  return await withFileLock(models.lockOf(name), { signal, onWait }, async () => {
    if ((await models.find(name)) !== null) {
      throw new InstalledModelsError(`There is a model ${name} already. Remove it first, or choose another --name.`);
    }
    const work = models.workFolderOf(name);
    await rm(work, { recursive: true, force: true });
    await mkdir(work, { recursive: true });
    try {
      const used = new Set(files.map((file) => path.basename(file)));
      const copied = await copyFiles(path.resolve(source), work, used, signal);
      const now = new Date().toISOString();
      const record: ModelRecord = {
        name,
        title: name,
        kind,
        languages: options.languages ?? languages ?? 'any',
        licence: null,
        source: { folder: path.resolve(source) },
        files: copied,
        installed_at: now,
        verified_at: now,
      };
      await models.install(name, record);
      return record;
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  });
}

async function copyFiles(
  source: string,
  target: string,
  used: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<RecordedFile[]> {
  const names = (await readdir(source)).filter((name) => used.has(name) || !LEFT_OUT.test(name));
  const facts = await Promise.all(names.map(async (name) => ({ name, fact: await stat(path.join(source, name)) })));
  const files = facts.filter(({ name, fact }) => fact.isFile() && name !== MODEL_RECORD);
  const total = files.reduce((sum, { fact }) => sum + fact.size, 0);
  const free = await freeBytesOf(target);
  if (free < total) {
    throw new InstalledModelsError(`The model has ${total} bytes, and the disk of ${target} has ${free} free.`);
  }
  const copied: RecordedFile[] = [];
  for (const { name, fact } of files) {
    signal.throwIfAborted();
    const copy = path.join(target, name);
    await copyFile(path.join(source, name), copy, constants.COPYFILE_FICLONE);
    copied.push({ name, bytes: fact.size, sha256: await digestOf(copy, 'sha256'), published: null });
  }
  return copied;
}
