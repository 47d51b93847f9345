import { readdir, readFile } from 'node:fs/promises';
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

/** What of a set is measured. */
interface Selection {
  /** The first recordings. */
  limit?: number | undefined;
  /** Recordings from all over the set. */
  sample?: number | undefined;
}

/** The recordings of a folder with a manifest, or of one of LibriSpeech. */
export async function readRecordings(folder: string, { limit, sample }: Selection = {}): Promise<ManifestEntry[]> {
  const librispeech = await readLibriSpeech(folder);
  const entries = (librispeech.length > 0 ? librispeech : await readManifest(folder)).slice(0, limit);
  if (sample === undefined || sample >= entries.length) return entries;
  const step = entries.length / sample;
  return Array.from({ length: sample }, (_, index) => entries[Math.floor(index * step)] as ManifestEntry);
}

/** Ends the name of a file with what is said in the recordings of a chapter. */
const CHAPTER = '.trans.txt';

/**
 * Reads a part of LibriSpeech as it is unpacked: in each chapter's folder a text file with a line for each recording, its
 * name and what is said, and the recordings as FLAC. Empty for a folder without such files.
 */
async function readLibriSpeech(folder: string): Promise<ManifestEntry[]> {
  const files = await readdir(folder, { recursive: true }).catch(() => []);
  const entries: ManifestEntry[] = [];
  for (const chapter of files.filter((file) => file.endsWith(CHAPTER)).toSorted()) {
    const text = await readFile(path.join(folder, chapter), 'utf8');
    for (const line of text.split('\n').filter((item) => item.trim() !== '')) {
      const [, name, ref] = /^(\S+)\s+(\S.*)$/.exec(line.trim()) ?? [];
      if (name === undefined || ref === undefined) {
        throw new AccuracyError(
          `${path.join(folder, chapter)} must have the name of a recording and its text in each line`,
        );
      }
      entries.push({ file: path.join(path.dirname(chapter), `${name}.flac`), ref, lang: 'english' });
    }
  }
  return entries;
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
