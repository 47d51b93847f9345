import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { languageName } from '../../platform/languages.js';
import { errorCode } from '../../platform/storage/file-system.js';
import { CATALOGUE, type CatalogueEntry, SPEED_CLASSES } from './catalogue-entries.js';
import { MODEL_NAME, MODEL_NAME_RULE } from './installed-models.js';
import { SPEAKER_CATALOGUE } from './speaker-catalogue.js';

/** In the folder of models: a list of entries of the operator's own, which come before those that ship with the service. */
const OWN_CATALOGUE = 'catalogue.json';

/** The catalogue cannot be read, or has no such model. For an operator. */
class CatalogueError extends Error {
  override readonly name = 'CatalogueError';
}

/** @throws CatalogueError when the operator's own catalogue breaks a rule */
export async function readCatalogue(modelsFolder: string): Promise<readonly CatalogueEntry[]> {
  const own = await readOwnCatalogue(path.join(modelsFolder, OWN_CATALOGUE));
  const names = new Set(own.map(({ name }) => name));
  return [...own, ...[...CATALOGUE, ...SPEAKER_CATALOGUE].filter(({ name }) => !names.has(name))];
}

/** @throws CatalogueError that names the most similar ones */
export function findEntry(catalogue: readonly CatalogueEntry[], name: string): CatalogueEntry {
  const found = catalogue.find((entry) => entry.name === name);
  if (found) return found;
  const [first = ''] = name.toLowerCase().split(/[-_.]/);
  const similar = catalogue.filter((entry) => first !== '' && entry.name.includes(first)).map((entry) => entry.name);
  const hint = similar.length > 0 ? `Similar: ${similar.join(', ')}.` : 'All: npm run models -- list';
  throw new CatalogueError(`The catalogue has no model ${JSON.stringify(name)}. ${hint}`);
}

/** Lower-case English names. */
export function languagesOf({ languages }: CatalogueEntry): readonly string[] | 'any' {
  return languages === 'any' ? 'any' : languages.map((code) => languageName(code) ?? code);
}

async function readOwnCatalogue(file: string): Promise<CatalogueEntry[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return '[]';
    throw new CatalogueError(`${file} cannot be read: ${errorCode(error) ?? String(error)}`);
  });
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch (error) {
    throw new CatalogueError(`${file} is not JSON: ${(error as Error).message}`);
  }
  if (!Array.isArray(entries)) throw new CatalogueError(`${file} must hold a list`);
  return entries.map((entry: unknown, index) => ownEntry(entry, `${file}, entry ${index + 1}`));
}

function ownEntry(value: unknown, where: string): CatalogueEntry {
  const given = (typeof value === 'object' && value !== null ? value : {}) as Partial<CatalogueEntry>;
  const { name = '', repository = '', files = [], languages = 'any' } = given;
  const check = (condition: boolean, rule: string): void => {
    if (!condition) throw new CatalogueError(`${where}: ${rule}`);
  };
  check(MODEL_NAME.test(name), `name must be ${MODEL_NAME_RULE}`);
  check(/^[\w.-]+\/[\w.-]+$/.test(repository), 'repository must be owner/name');
  check(Array.isArray(files) && files.length > 0 && files.every(isPath), 'files must be a list of paths');
  check(new Set(files.map((file) => path.posix.basename(file))).size === files.length, 'files must differ in name');
  check(
    languages === 'any' ||
      (Array.isArray(languages) && languages.every((code) => typeof code === 'string' && languageName(code) !== null)),
    'languages must be a list of codes or names, or "any"',
  );
  check(given.speed === undefined || SPEED_CLASSES.includes(given.speed), `speed must be ${SPEED_CLASSES.join(', ')}`);
  return {
    title: name,
    kind: 'unknown',
    licence: null,
    speed: 'medium',
    approximateBytes: null,
    revision: 'main',
    ...given,
    name,
    repository,
    files,
    languages,
  };
}

const isPath = (file: unknown): boolean =>
  typeof file === 'string' && /^[\w.-]+(\/[\w.-]+)*$/.test(file) && !file.split('/').some((part) => /^\.+$/.test(part));
