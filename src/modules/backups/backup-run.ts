import type { Env } from '../../platform/config/env.js';
import type { SqlRunner } from '../../platform/database/database.service.js';
import { ObjectNotFoundError } from '../../platform/storage/file-system.js';
import type { ObjectStore } from '../../platform/storage/object-store.js';
import {
  type BackupDestination,
  backupKeyOf,
  type FoundBackup,
  manifestKey,
  retryStore,
} from './backup-destination.js';
import {
  BACKUP_FORMAT,
  type BackedUpTable,
  type BackupFile,
  backupIdOf,
  type BackupManifest,
  InvalidBackupError,
  lineOfObject,
  type ListedObject,
  objectOfLine,
  timeOfName,
} from './backup-format.js';
import { asOnlyBackup, copiedLines, inSnapshot, sequencesOf, type Snapshot, writeTable } from './database-copy.js';
import { removeErasuresBefore, writeAllErasures, writeNewErasures } from './erasure-journal.js';
import {
  linesOfFiles,
  LinesWriter,
  listKey,
  objectsOf,
  planKey,
  SortedSources,
  unverifiedLines,
} from './object-lists.js';

/** Objects that are copied at the same time. */
const WIDTH = 24;
/** Keys of lost objects that a manifest names. */
const NAMED = 1000;
/** Missing objects that make another store likely. */
const LOST = 20;

/** Objects of recordings that have some, in the order of their keys. Those without bytes are still to come. */
const OBJECTS = `SELECT object_key, id FROM recordings WHERE audio_deleted_at IS NULL AND file_size_bytes > 0
  ORDER BY object_key COLLATE "C"`;

export interface BackupOptions {
  /** Backups that are kept, this one included; null for all. */
  keep: number | null;
  /** Copies all objects, those too that earlier backups have. */
  full: boolean;
  /** Goes on although the store has none of the objects. */
  allowMissing: boolean;
  /** Identifies the SECRET_KEY. */
  secretKeyId: string;
  /** Tells an operator how far it is. */
  progress: (message: string) => void;
}

/** What is known of an object that is to be in the backup. */
type Copied = (ListedObject & { isNew: boolean }) | { key: string; recordingId: string; isAbsent: true };

/** What the snapshot had, once its rows are stored. */
type StoredRows = Snapshot & {
  id: string;
  rows: BackedUpTable[];
  sequences: BackupManifest['sequences'];
  /** Lists of the objects that are to be copied. */
  plan: BackupFile[];
};

/** Makes a backup (docs/decisions/0047). One that was interrupted is not taken for one, and the next goes on with it. */
export class BackupRun {
  constructor(
    private readonly env: Env,
    private readonly database: SqlRunner,
    /** Whose bytes are copied as they are stored. */
    private readonly store: ObjectStore,
    private readonly destination: BackupDestination,
    private readonly options: BackupOptions,
  ) {}

  /** @returns the manifest, and how many earlier backups were removed */
  async run(): Promise<{ manifest: BackupManifest; removed: number }> {
    return await asOnlyBackup(this.env, async () => {
      const earlier = await this.destination.backups();
      const latest = await this.latestOf(earlier);
      const stored = await this.storeRows(latest);
      const objects = await this.copyObjects(stored, latest, earlier);
      const { id, installation, at, migrations, rows: tables, sequences } = stored;
      const manifest: BackupManifest = {
        format: BACKUP_FORMAT,
        id,
        installation,
        at: at.toISOString(),
        finished_at: new Date().toISOString(),
        secret_key_id: this.options.secretKeyId,
        migrations,
        tables,
        sequences,
        objects,
      };
      await this.destination.writeManifest(manifest);
      await this.writeErasures();
      await this.database.query('UPDATE backup_state SET last_success_at = $1, last_backup = $2', [at, id]);
      return { manifest, removed: await this.removeOld(manifest, earlier) };
    });
  }

  /** Where only backups write, all are written: nobody else does. */
  async writeErasures(): Promise<number> {
    return this.destination.location === this.env.backupDestination
      ? await writeNewErasures(this.database, this.destination)
      : await writeAllErasures(this.database, this.destination);
  }

  private async latestOf(earlier: readonly FoundBackup[]): Promise<BackupManifest | null> {
    const latest = earlier.findLast(({ isComplete }) => isComplete);
    return latest ? await this.destination.manifest(latest.id) : null;
  }

  private async storeRows(latest: BackupManifest | null): Promise<StoredRows> {
    const { progress } = this.options;
    return await inSnapshot(this.env, progress, async (client, snapshot) => {
      if (latest !== null && latest.installation !== snapshot.installation) {
        throw new InvalidBackupError(
          `${this.destination.location} has the backups of another installation. Give each a place of its own.`,
        );
      }
      const id = backupIdOf(snapshot.at);
      const plan = new LinesWriter(this.destination, (part) => planKey(id, part));
      for await (const line of copiedLines(client, OBJECTS)) await plan.add(`${line}\n`);
      const rows: BackedUpTable[] = [];
      for (const table of snapshot.tables) {
        progress(`table ${rows.length + 1} of ${snapshot.tables.length}: ${table.name}`);
        rows.push(await writeTable(client, table, this.destination, id));
      }
      return { ...snapshot, id, rows, sequences: await sequencesOf(client), plan: await plan.end() };
    });
  }

  /** In the order of their keys, several at the same time. */
  private async copyObjects(
    stored: StoredRows,
    latest: BackupManifest | null,
    earlier: readonly FoundBackup[],
  ): Promise<BackupManifest['objects']> {
    const known = new SortedSources(this.options.full ? [] : this.knownObjects(latest, earlier));
    const list = new LinesWriter(this.destination, (part) => listKey(stored.id, part));
    const result = { count: 0, bytes: 0, copied: 0, erased: 0, missing: 0 };
    const absent: { key: string; recordingId: string }[] = [];
    const note = async (copied: Copied): Promise<void> => {
      if ('isAbsent' in copied) return void absent.push(copied);
      result.count++;
      result.bytes += copied.bytes;
      if (copied.isNew) result.copied++;
      await list.add(lineOfObject(copied));
      if (result.count % 1000 === 0) this.options.progress(`${result.count} objects, ${result.copied} of them copied`);
    };
    const pending: Promise<Copied | Error>[] = [];
    const next = async (): Promise<void> => {
      const copied = await pending.shift();
      if (copied instanceof Error) throw copied;
      await note(copied as Copied);
    };
    for await (const line of linesOfFiles(this.destination, stored.plan)) {
      const [key, recordingId] = line.split('\t') as [string, string];
      const found = await known.find(key);
      pending.push(found ? Promise.resolve({ ...found, isNew: false }) : this.copy(key, recordingId).catch(asError));
      if (pending.length >= WIDTH) await next();
    }
    while (pending.length > 0) await next();
    const lost = await selectLost(this.database, absent);
    this.refuseWrongStore(lost.length, result);
    return {
      ...result,
      erased: absent.length - lost.length,
      missing: lost.length,
      missing_keys: lost.slice(0, NAMED),
      lists: await list.end(),
    };
  }

  /** An object or two may be lost; all of them are in another store. */
  private refuseWrongStore(lost: number, { count, copied }: { count: number; copied: number }): void {
    if (this.options.allowMissing || copied > 0 || lost === 0 || (count > 0 && lost < LOST)) return;
    throw new InvalidBackupError(
      `The storage has none of the ${lost} objects that are to be copied. Use the environment of the service, or add ` +
        '--allow-missing if they are lost.',
    );
  }

  /** Of the last backup, and of those that were interrupted. */
  private knownObjects(latest: BackupManifest | null, earlier: readonly FoundBackup[]): AsyncGenerator<ListedObject>[] {
    const interrupted = earlier.filter(({ isComplete }) => !isComplete);
    return [
      ...(latest ? [objectsOf(this.destination, latest)] : []),
      ...interrupted.map(({ files }) => interruptedObjects(this.destination, files)),
    ];
  }

  /** As it is stored, whatever that is. */
  private async copy(key: string, recordingId: string): Promise<Copied> {
    try {
      return await retryStore(async () => {
        const stored = await this.store.read(key);
        const { bytes, sha256 } = await this.destination.writeFrom(backupKeyOf(key), stored as AsyncIterable<Buffer>);
        return { key, recordingId, bytes, sha256, isNew: true };
      });
    } catch (error) {
      if (error instanceof ObjectNotFoundError) return { key, recordingId, isAbsent: true };
      throw error;
    }
  }

  /**
   * Removes the backups beyond those that are kept, those that were interrupted, and the objects that only they have. The
   * manifest goes first: what is interrupted then is removed by the next backup.
   */
  private async removeOld(manifest: BackupManifest, earlier: readonly FoundBackup[]): Promise<number> {
    const { keep } = this.options;
    const complete = earlier.filter(({ isComplete }) => isComplete);
    const old = keep === null ? [] : complete.slice(0, Math.max(0, complete.length - keep + 1));
    for (const { id } of old) await this.destination.remove(manifestKey(id));
    const kept = complete.filter((backup) => !old.includes(backup));
    const gone = [...old, ...earlier.filter(({ isComplete }) => !isComplete)];
    if (gone.length > 0) this.options.progress(`removing ${gone.length} backups that are old or were interrupted`);
    for (const backup of gone) await this.removeBackup(backup, [manifest, ...(await this.manifestsOf(kept))]);
    if (old.length > 0) await removeErasuresBefore(this.destination, timeOfName((kept[0] ?? manifest).id));
    return old.length;
  }

  private async manifestsOf(backups: readonly FoundBackup[]): Promise<BackupManifest[]> {
    const manifests: BackupManifest[] = [];
    for (const { id } of backups) manifests.push(await this.destination.manifest(id));
    return manifests;
  }

  private async removeBackup({ files }: FoundBackup, kept: readonly BackupManifest[]): Promise<void> {
    const needed = new SortedSources(kept.map((manifest) => objectsOf(this.destination, manifest)));
    const planned = files.filter((key) => key.includes('/planned-'));
    for await (const line of unverifiedLines(this.destination, planned)) {
      const key = line.split('\t')[0] as string;
      if ((await needed.find(key)) === null) await this.destination.remove(backupKeyOf(key));
    }
    // The plan goes last: it says what is left to be removed.
    for (const key of files.filter((file) => !planned.includes(file))) {
      if (!key.endsWith('/manifest.json')) await this.destination.remove(key);
    }
    for (const key of planned) await this.destination.remove(key);
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

async function* interruptedObjects(destination: BackupDestination, files: string[]): AsyncGenerator<ListedObject> {
  const lists = files.filter((key) => key.includes('/objects-'));
  for await (const line of unverifiedLines(destination, lists)) yield objectOfLine(line);
}

/** Of objects that the store does not have: those whose recordings are still there. SQL, because of many ids. */
async function selectLost(
  runner: SqlRunner,
  absent: readonly { key: string; recordingId: string }[],
): Promise<string[]> {
  if (absent.length === 0) return [];
  const rows = await runner.query<{ key: string }>(
    `SELECT object_key AS key FROM recordings
     WHERE id = ANY ($1::uuid[]) AND object_key = ANY ($2) AND audio_deleted_at IS NULL ORDER BY 1`,
    [absent.map(({ recordingId }) => recordingId), absent.map(({ key }) => key)],
  );
  return rows.map(({ key }) => key);
}
