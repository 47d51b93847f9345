import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { languageName } from '../../platform/languages.js';

/** A recording and what is said in it. */
export interface ManifestEntry {
  /** Relative to the folder. */
  file: string;
  ref: string;
  /** Lower-case English name; null when the engine is to find it out. */
  lang: string | null;
}

/** What is wrong with the folder, the manifest or the options, for the person at the terminal. */
export class AccuracyError extends Error {
  override readonly name = 'AccuracyError';
}

/**
 * Reads `manifest.json` of a folder: a list of `{ "file", "ref", "lang" }`. Other fields are for people.
 * @throws AccuracyError which names the item and the field
 */
export async function readManifest(folder: string): Promise<ManifestEntry[]> {
  const file = path.join(folder, 'manifest.json');
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new AccuracyError(`Cannot read ${file} (${error.code ?? error.message})`);
  });
  const list = parsed(text);
  if (!Array.isArray(list) || list.length === 0) {
    throw new AccuracyError(`${file} must be a JSON list of { "file", "ref", "lang" }`);
  }
  return list.map((item: unknown, index) => readEntry(item, `${file}, item ${index + 1}`));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function readEntry(item: unknown, place: string): ManifestEntry {
  const { file, ref, lang } = Object(item) as Record<string, unknown>;
  if (typeof file !== 'string' || file === '')
    throw new AccuracyError(`${place}: file must be the path of a recording`);
  if (typeof ref !== 'string') throw new AccuracyError(`${place}: ref must be the text that is said`);
  if (lang === undefined || lang === null) return { file, ref, lang: null };
  const name = typeof lang === 'string' ? languageName(lang) : null;
  if (!name) throw new AccuracyError(`${place}: lang must be the name or code of a language: ${JSON.stringify(lang)}`);
  return { file, ref, lang: name };
}
