import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { errorCode, ignoreAbsent, syncFolder } from '../../../platform/storage/file-system.js';
import { MODEL_NAME, MODEL_NAME_RULE } from './catalogue/catalogue-entry.js';
import { MODEL_RECORD } from './model-kind.js';
import { type ModelRecord, readModelRecord } from './model-record.js';
import { SELECTED_FILE, selectedModel } from './selected-model.js';

export interface InstalledModel {
  name: string;
  folder: string;
  bytes: number;
  isSelected: boolean;
  /** Null when its folder was not made by these commands. */
  record: ModelRecord | null;
}

/** A model cannot be found, selected or removed. For an operator. */
export class ModelsFolderError extends Error {
  override readonly name = 'ModelsFolderError';
}

/** Downloads in progress, and what is being removed. Hidden, so that it is never a model. */
const WORK = '.work';
const LOCKS = '.locks';

/** The folder of models (MODELS_FOLDER): each in a folder of its name, and a file that says which is in use. */
export class ModelsFolder {
  readonly path: string;

  constructor(folder: string) {
    this.path = path.resolve(folder);
  }

  /** @throws ModelsFolderError when it is no name of a model */
  folderOf(name: string): string {
    if (!MODEL_NAME.test(name)) {
      throw new ModelsFolderError(`${JSON.stringify(name)} cannot be the name of a model: ${MODEL_NAME_RULE}.`);
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
      throw new ModelsFolderError(`${this.path} cannot be read: ${errorCode(error) ?? String(error)}`);
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
    const isSelected = selectedModel(this.path) === name;
    return { name, folder, bytes, isSelected, record: await readModelRecord(folder) };
  }

  /** @throws ModelsFolderError when it is not installed */
  async get(name: string): Promise<InstalledModel> {
    const model = await this.find(name);
    if (model) return model;
    const installed = (await this.list()).map((one) => one.name);
    throw new ModelsFolderError(
      `The model ${name} is not in ${this.path}. ` +
        (installed.length > 0 ? `There: ${installed.join(', ')}. ` : '') +
        `Download it: npm run models -- pull ${name}`,
    );
  }

  /** A worker reads the name when it starts. */
  async select(name: string): Promise<void> {
    await this.get(name);
    const file = path.join(this.path, SELECTED_FILE);
    const unfinished = `${file}.${process.pid}`;
    await writeFile(unfinished, `${name}\n`);
    await rename(unfinished, file);
    await syncFolder(this.path);
  }

  /** Puts a complete model into its place; one that was there before goes only then. */
  async install(name: string, record: ModelRecord): Promise<void> {
    const work = this.workFolderOf(name);
    await writeSynced(path.join(work, MODEL_RECORD), `${JSON.stringify(record, null, 2)}\n`);
    await syncFolder(work);
    const folder = this.folderOf(name);
    const before = `${work}.before`;
    await rm(before, { recursive: true, force: true });
    await rename(folder, before).catch(ignoreAbsent);
    await rename(work, folder);
    await syncFolder(this.path);
    await rm(before, { recursive: true, force: true });
  }

  /** @throws ModelsFolderError when it is not installed, or is the selected one and `force` is not given */
  async remove(name: string, { force = false } = {}): Promise<InstalledModel> {
    const model = await this.get(name);
    if (model.isSelected && !force) {
      throw new ModelsFolderError(`${name} is the selected model. Select another one first, or add --force.`);
    }
    if (model.isSelected) await rm(path.join(this.path, SELECTED_FILE), { force: true });
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
    throw new ModelsFolderError(`${folder} cannot be read: ${errorCode(error) ?? String(error)}`);
  }
}

async function writeSynced(file: string, text: string): Promise<void> {
  const handle = await open(file, 'w');
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
