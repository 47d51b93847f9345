import { languagesOf, readCatalogue } from '../../modules/transcriptions/models/catalogue/catalogue.js';
import type { CatalogueEntry } from '../../modules/transcriptions/models/catalogue/catalogue-entry.js';
import { formatBytes } from '../../modules/transcriptions/models/download/progress-lines.js';
import { isComplete } from '../../modules/transcriptions/models/model-record.js';
import type { InstalledModel } from '../../modules/transcriptions/models/models-folder.js';
import { formatOutput } from '../admin/format-output.js';
import { modelsContext } from './models-context.js';
import type { CommandResult } from './command-result.js';

const NOTES = [
  'Size: about so much is downloaded (? where no source states it). Speed: an estimate from size and design.',
  'Licence: as its text or the page of the model states it; ? where it was not confirmed. All addresses: --json.',
  'Download and select one: npm run models -- pull NAME --use',
];
const MOST_LANGUAGES = 3;

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

/** A model as the commands show it. */
export function presentModel({ name, folder, bytes, isSelected, record }: InstalledModel): object {
  return { name, selected: isSelected, bytes, folder, record };
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
