import { gunzipSync, gzipSync } from 'node:zlib';
import type { BackupDestination } from './backup-destination.js';
import { type BackupFile, type BackupManifest, type ListedObject, objectOfLine } from './backup-format.js';

/** Objects of one file of a list: what a backup that is interrupted has to copy again. */
const LISTED = 5000;

const partOf = (part: number): string => String(part).padStart(6, '0');
export const listKey = (id: string, part: number): string => `backups/${id}/objects-${partOf(part)}.gz`;
/** What a backup is about to copy, written before: so that nothing of it is forgotten if it does not end. */
export const planKey = (id: string, part: number): string => `backups/${id}/planned-${partOf(part)}.gz`;

/** Writes lines in files of some thousands. */
export class LinesWriter {
  readonly files: BackupFile[] = [];
  private lines: string[] = [];

  constructor(
    private readonly destination: BackupDestination,
    private readonly keyOf: (part: number) => string,
  ) {}

  async add(line: string): Promise<void> {
    this.lines.push(line);
    if (this.lines.length === LISTED) await this.flush();
  }

  /** @returns the files */
  async end(): Promise<BackupFile[]> {
    if (this.lines.length > 0) await this.flush();
    return this.files;
  }

  private async flush(): Promise<void> {
    const content = gzipSync(this.lines.join(''), { level: 1 });
    this.files.push(await this.destination.write(this.keyOf(this.files.length + 1), content));
    this.lines = [];
  }
}

/** The lines of a file of this destination. */
export const linesOf = (content: Buffer): string[] => gunzipSync(content).toString().split('\n').slice(0, -1);

/** The objects of a complete backup, in order. @throws InvalidBackupError naming a list that is damaged */
export async function* objectsOf(
  destination: BackupDestination,
  { objects }: BackupManifest,
): AsyncGenerator<ListedObject> {
  for (const list of objects.lists) {
    for (const line of linesOf(await destination.verifiedContentOf(list))) yield objectOfLine(line);
  }
}

/** Lines of files that were written before in the same run. */
export async function* linesOfFiles(destination: BackupDestination, files: BackupFile[]): AsyncGenerator<string> {
  for (const file of files) yield* linesOf(await destination.verifiedContentOf(file));
}

/** Lines of files without a manifest, in order; one that is damaged ends them. */
export async function* unverifiedLines(destination: BackupDestination, keys: string[]): AsyncGenerator<string> {
  for (const key of keys.toSorted()) {
    const content = await destination.contentOf(key);
    let lines: string[];
    try {
      lines = linesOf(content);
    } catch {
      return;
    }
    yield* lines;
  }
}

/** Looks up ascending keys in sources that are in the same order. */
export class SortedSources<T extends { key: string }> {
  private readonly sources: { rest: AsyncIterator<T>; head: T | null; begun: boolean }[];

  constructor(sources: AsyncIterable<T>[]) {
    this.sources = sources.map((source) => ({ rest: source[Symbol.asyncIterator](), head: null, begun: false }));
  }

  /** @param key not before the one that was asked for last */
  async find(key: string): Promise<T | null> {
    let found: T | null = null;
    for (const source of this.sources) {
      while (!source.begun || (source.head !== null && source.head.key < key)) {
        source.begun = true;
        const next = await source.rest.next();
        source.head = next.done ? null : next.value;
      }
      if (source.head?.key === key) found ??= source.head;
    }
    return found;
  }
}
