import path from 'node:path';
import { addModel } from '../../modules/models/add-model.js';
import type { CatalogueEntry } from '../../modules/models/catalogue-entries.js';
import { languagesOf, readCatalogue } from '../../modules/models/catalogue.js';
import {
  type InstalledModel,
  InstalledModels,
  isComplete,
  MODEL_NAME,
  MODEL_NAME_RULE,
  verifyModel,
} from '../../modules/models/installed-models.js';
import { readAnyModel } from '../../modules/models/speaker-model.js';
import { type ModelSettings, modelSettings } from '../../platform/config/env.js';
import { languageName } from '../../platform/languages.js';
import { formatOutput } from '../admin/format-output.js';
import { formatBytes } from './progress-lines.js';

/** What a command of `npm run models` prints. */
export interface CommandResult {
  /** For `--json`. */
  value: object;
  /** For people: an object becomes lines and tables. */
  text: string | object;
  /** 1 when something that was checked is wrong. */
  exitCode?: number;
}

const NOTES = [
  'Size: about so much is downloaded (? where no source states it). Speed: an estimate from size and design.',
  'Licence: as its text or the page of the model states it; ? where it was not confirmed. All addresses: --json.',
  'Download and select one: npm run models -- pull NAME --use',
  'Words while somebody speaks: a streaming model, which is selected beside the other one.',
  'Speakers need two, one of each kind: speaker-segmentation and speaker-embedding.',
];
const MOST_LANGUAGES = 3;

interface AddOptions {
  target: string;
  name?: string;
  languages?: string;
  use?: true;
}

export async function listModels(): Promise<CommandResult> {
  const { models, settings } = modelsContext();
  const [installed, catalogue] = await Promise.all([models.list(), readCatalogue(models.path)]);
  const states = await Promise.all(installed.map((model) => stateOf(model)));
  const names = new Set(installed.map(({ name }) => name));
  const tables = formatOutput({
    folder: models.path,
    installed: installed.map((model, index) => installedRow(model, states[index] ?? '')),
    catalogue: catalogue.map((entry) => catalogueRow(entry, names.has(entry.name))),
  });
  return {
    value: {
      folder: models.path,
      source: new URL(settings.modelsUrl).origin,
      installed: installed.map((model, index) => ({ ...presentModel(model), verified: states[index] })),
      catalogue: catalogue.map((entry) => presentEntry(entry)),
    },
    text: [tables, '', ...NOTES].join('\n'),
  };
}

export async function add({ target, name = defaultName(target), languages, use }: AddOptions): Promise<CommandResult> {
  const { models } = modelsContext();
  const given = languages === undefined ? null : namesOf(languages);
  const signal = onInterruption('Interrupted. Nothing was added.');
  const onWait = (holder: string): unknown => process.stderr.write(`Waiting for ${holder}, which works on ${name}.\n`);
  const record = await addModel(models, target, { name, languages: given, signal, onWait });
  if (use) await models.select(name);
  const model = await models.get(name);
  const spoken = record.languages === 'any' ? 'any language' : record.languages.join(', ');
  return {
    value: { model: presentModel(model) },
    text: [
      `${name}: a model of the kind ${record.kind} for ${spoken}, ${formatBytes(model.bytes)}, copied to ${model.folder}`,
      model.isSelected
        ? 'Selected: workers use it from their next start on.'
        : `Select it: npm run models -- use ${name}`,
    ].join('\n'),
  };
}

export async function verify({ target }: { target?: string }): Promise<CommandResult> {
  const { models } = modelsContext();
  const chosen = target === undefined ? await models.list() : [await models.get(target)];
  const results = [];
  for (const model of chosen) results.push(await verifyModel(model));
  const lines = results.map(({ name, problems, files, bytes }) =>
    problems.length === 0
      ? `${name}: ${files} files, ${formatBytes(bytes)}, all as recorded`
      : `${name}: NOT as recorded\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
  );
  const isBad = results.some(({ problems }) => problems.length > 0);
  return {
    value: { models: results },
    text: lines.join('\n') || `No model is in ${models.path}.`,
    exitCode: isBad ? 1 : 0,
  };
}

export async function select({ target }: { target: string }): Promise<CommandResult> {
  const { models } = modelsContext();
  // A worker would find out only when it starts.
  readAnyModel((await models.get(target)).folder);
  await models.select(target);
  return {
    value: { model: presentModel(await models.get(target)) },
    text: `${target} is selected. Workers use it from their next start on.`,
  };
}

export async function remove({ target, force }: { target: string; force?: true }): Promise<CommandResult> {
  const { models } = modelsContext();
  const { bytes } = await models.remove(target, { force: force ?? false });
  return { value: { removed: target, bytes }, text: `${target} is removed: ${formatBytes(bytes)} are free again.` };
}

export interface ModelsContext {
  settings: ModelSettings;
  models: InstalledModels;
}

/** @throws InvalidEnvironmentError */
export function modelsContext(): ModelsContext {
  const settings = modelSettings(process.env);
  return { settings, models: new InstalledModels(settings.modelsFolder) };
}

/** A model as the commands show it. */
export function presentModel({ name, folder, bytes, isSelected, record }: InstalledModel): object {
  return { name, selected: isSelected, bytes, folder, record };
}

/** The person at the terminal, or the system, ended the command. */
class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
}

/** A signal that is aborted by Ctrl-C or a stop, so that what was received is kept and the lock is released. */
export function onInterruption(message: string): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new InterruptedError(message));
  process.once('SIGINT', abort).once('SIGTERM', abort).once('SIGHUP', abort);
  return controller.signal;
}

/** The day of the last check, or what is wrong: only sizes are looked at here. */
async function stateOf({ folder, record }: InstalledModel): Promise<string> {
  if (record === null) return 'no record';
  return (await isComplete(folder, record)) ? record.verified_at.slice(0, 10) : 'incomplete';
}

function installedRow({ name, bytes, isSelected, record }: InstalledModel, verified: string): object {
  return {
    name,
    selected: isSelected ? 'yes' : '',
    size: formatBytes(bytes),
    kind: record?.kind,
    languages: languagesText(record?.languages ?? 'any'),
    verified,
  };
}

function catalogueRow(entry: CatalogueEntry, isInstalled: boolean): object {
  return {
    name: entry.name,
    installed: isInstalled ? 'yes' : '',
    size: entry.approximateBytes === null ? '?' : `~${formatBytes(entry.approximateBytes)}`,
    speed: entry.speed,
    licence: entry.licence?.name ?? '?',
    languages: languagesText(languagesOf(entry)),
    title: entry.title,
  };
}

function presentEntry(entry: CatalogueEntry): object {
  const { approximateBytes: approximate_bytes, ...fields } = entry;
  return { ...fields, languages: languagesOf(entry), approximate_bytes };
}

function languagesText(languages: readonly string[] | 'any'): string {
  if (languages === 'any') return 'many';
  return languages.length > MOST_LANGUAGES ? `${languages.length} languages` : languages.join(', ');
}

/** That of the folder, as far as the rules for names permit. @throws Error that asks for one */
function defaultName(folder: string): string {
  const name = path.basename(path.resolve(folder)).toLowerCase();
  if (MODEL_NAME.test(name)) return name;
  throw new Error(`Choose a --name: ${JSON.stringify(name)} cannot be the name of a model (${MODEL_NAME_RULE}).`);
}

function namesOf(list: string): string[] {
  return list.split(',').map((item) => {
    const name = languageName(item.trim());
    if (name === null) throw new Error(`--languages: ${JSON.stringify(item.trim())} is not a language or its code.`);
    return name;
  });
}
