import type pg from 'pg';
import { forEachAtOnce } from '../../platform/concurrency/concurrency-limit.js';
import type { Env } from '../../platform/config/env.js';
import { ObjectNotFoundError } from '../../platform/storage/file-system.js';
import type { ObjectStore } from '../../platform/storage/object-store.js';
import type { Spool } from '../../platform/storage/spool.js';
import { type BackupDestination, backupKeyOf, retryStore } from './backup-destination.js';
import {
  type BackupFile,
  type BackupManifest,
  InvalidBackupError,
  type ListedObject,
  sumOfChunks,
} from './backup-format.js';
import { asOnlyBackup, connect, readTable, tablesInOrder } from './database-copy.js';
import { erasuresSince } from './erasure-journal.js';
import { objectsOf } from './object-lists.js';
import { applyErasures, createJournal, endCredentials, insertErasures, skipNumbers } from './restore.queries.js';

/** Files that are read at the same time. */
const WIDTH = 16;

export interface RestoreOptions {
  /** Takes objects that the storage has, if they are the same: of a restore that was interrupted. */
  goOn: boolean;
  /** Goes on without objects that are damaged. */
  allowDamaged: boolean;
  progress: (message: string) => void;
}

/** What is damaged or missing, by its key in the backup. */
export interface VerifiedBackup {
  files: number;
  objects: number;
  damaged: string[];
}

export interface RestoreResult {
  rows: Record<string, number>;
  objects: number;
  /** Bytes of those that were restored. */
  bytes: number;
  /** Keys of objects that were left out. */
  damaged: string[];
  /** Erasures since the backup by their kind, as far as something was there to erase. */
  erased: Record<string, number>;
  /** Accounts whose counters have to be counted again. */
  changedAccounts: string[];
}

/** Reads all files and objects of a backup, and changes nothing. */
export async function verifyBackup(
  destination: BackupDestination,
  manifest: BackupManifest,
  progress: (message: string) => void,
): Promise<VerifiedBackup> {
  const files = filesOf(manifest);
  const damaged = await verifyFiles(destination, files);
  const lists = new Set(manifest.objects.lists.map(({ key }) => key));
  if (damaged.some((key) => lists.has(key))) return { files: files.length, objects: 0, damaged };
  let objects = 0;
  const verify = async ({ key, bytes, sha256 }: ListedObject): Promise<void> => {
    if (!(await isWhole(destination, { key: backupKeyOf(key), bytes, sha256 }))) damaged.push(backupKeyOf(key));
    if (++objects % 1000 === 0) progress(`${objects} of ${manifest.objects.count} objects verified`);
  };
  await forEachAtOnce(WIDTH, objectsOf(destination, manifest), verify);
  return { files: files.length, objects, damaged };
}

const filesOf = ({ tables, objects }: BackupManifest): BackupFile[] => [
  ...tables.flatMap(({ files }) => files),
  ...objects.lists,
];

async function verifyFiles(destination: BackupDestination, files: readonly BackupFile[]): Promise<string[]> {
  const damaged: string[] = [];
  for (const file of files) if (!(await isWhole(destination, file))) damaged.push(file.key);
  return damaged;
}

async function isWhole(destination: BackupDestination, file: BackupFile): Promise<boolean> {
  try {
    await destination.verify(file);
    return true;
  } catch (error) {
    if (error instanceof InvalidBackupError || error instanceof ObjectNotFoundError) return false;
    throw error;
  }
}

/**
 * Restores a backup into a database without accounts, which has the schema of the backup, and a store without their
 * objects (docs/decisions/0047). The rows come last, in one transaction: a restore that fails leaves none.
 */
export class RestoreRun {
  /** Recordings of which nothing comes back, by their ids, and accounts. */
  private readonly erased = { recordings: new Set<string>(), accounts: new Set<string>() };

  constructor(
    private readonly env: Env,
    /** Whose bytes are stored as they come. */
    private readonly store: ObjectStore,
    private readonly spool: Spool,
    private readonly destination: BackupDestination,
    private readonly manifest: BackupManifest,
    private readonly options: RestoreOptions,
  ) {}

  async run(): Promise<RestoreResult> {
    return await asOnlyBackup(this.env, async () => {
      await this.verifyFiles();
      await this.readErasures();
      if (!this.options.goOn) await this.refuseFullStore();
      const objects = await this.restoreObjects();
      return { ...objects, ...(await this.restoreRows()) };
    });
  }

  private async verifyFiles(): Promise<void> {
    const damaged = await verifyFiles(this.destination, filesOf(this.manifest));
    if (damaged.length > 0) throw new InvalidBackupError(`Damaged or missing: ${damaged.join(', ')}.`);
  }

  /** Objects of what was erased are not restored at all. */
  private async readErasures(): Promise<void> {
    for await (const erasures of erasuresSince(this.destination, new Date(this.manifest.at))) {
      for (const { kind, subject_id: id } of erasures) {
        if (kind === 'recording' || kind === 'audio') this.erased.recordings.add(id);
        if (kind === 'account') this.erased.accounts.add(id);
      }
    }
  }

  private async refuseFullStore(): Promise<void> {
    let last = '';
    for await (const { key } of objectsOf(this.destination, this.manifest)) {
      const account = key.split('/')[0] as string;
      if (account === last) continue;
      last = account;
      const count = await retryStore(() => this.store.countUnder(account));
      if (count > 0) {
        throw new InvalidBackupError(
          `The storage has ${count} objects of the account ${account}. Restore into an empty storage, or add --continue ` +
            'if they are of a restore that was interrupted.',
        );
      }
    }
  }

  private async restoreObjects(): Promise<Pick<RestoreResult, 'objects' | 'bytes' | 'damaged'>> {
    const { count } = this.manifest.objects;
    const result = { objects: 0, bytes: 0, damaged: [] as string[] };
    const restore = async (object: ListedObject): Promise<void> => {
      if (this.erased.recordings.has(object.recordingId)) return;
      if (this.erased.accounts.has(object.key.split('/')[0] as string)) return;
      if (!(await this.restoreObject(object))) return void result.damaged.push(backupKeyOf(object.key));
      result.bytes += object.bytes;
      if (++result.objects % 1000 === 0) this.options.progress(`${result.objects} of ${count} objects restored`);
    };
    await forEachAtOnce(WIDTH, objectsOf(this.destination, this.manifest), restore);
    if (result.damaged.length > 0 && !this.options.allowDamaged) {
      throw new InvalidBackupError(
        `Damaged or missing: ${result.damaged.toSorted().join(', ')}. No row was restored. Use another backup, or add ` +
          '--allow-damaged (with --continue) to restore without them.',
      );
    }
    return result;
  }

  /** @returns whether the backup has it, unchanged. @throws InvalidBackupError when the store has another one */
  private async restoreObject({ key, sha256 }: ListedObject): Promise<boolean> {
    if (this.options.goOn && (await this.isThere(key, sha256))) return true;
    return await retryStore(async () => {
      try {
        return await this.spool.withFile(async (file) => {
          const stored = await this.destination.read(backupKeyOf(key));
          if ((await sumOfChunks(stored, file)) !== sha256) return false;
          await this.store.put(key, file);
          return true;
        });
      } catch (error) {
        if (error instanceof ObjectNotFoundError) return false;
        throw error;
      }
    });
  }

  private async isThere(key: string, sha256: string): Promise<boolean> {
    try {
      if ((await sumOfChunks(await this.store.read(key))) === sha256) return true;
    } catch (error) {
      if (error instanceof ObjectNotFoundError) return false;
      throw error;
    }
    throw new InvalidBackupError(`The storage has another object under ${key}. Nothing was changed in it.`);
  }

  private async restoreRows(): Promise<Pick<RestoreResult, 'rows' | 'erased' | 'changedAccounts'>> {
    const client = await connect(this.env);
    try {
      await client.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0`);
      await this.copyRows(client);
      await client.query('UPDATE recordings SET bucket = $1 WHERE bucket <> $1', [this.store.bucket]);
      await client.query('UPDATE backup_state SET last_success_at = $1, last_backup = $2', [
        this.manifest.at,
        this.manifest.id,
      ]);
      await createJournal(client);
      for await (const erasures of erasuresSince(this.destination, new Date(this.manifest.at))) {
        await insertErasures(client, erasures);
      }
      const { erased, changedAccounts } = await applyErasures(client);
      await endCredentials(client);
      await skipNumbers(client);
      await client.query('COMMIT');
      const rows = Object.fromEntries(this.manifest.tables.map((table) => [table.name, table.rows]));
      return { rows, erased, changedAccounts };
    } finally {
      await client.end();
    }
  }

  /** Triggers would do once more what they have done. The rows that migrations have inserted are in the backup, too. */
  private async copyRows(client: pg.Client): Promise<void> {
    const { tables, sequences } = this.manifest;
    const present = (await tablesInOrder(client)).map(({ name }) => name);
    const unknown = tables.find(({ name }) => !present.includes(name));
    if (unknown) throw new InvalidBackupError(`The database has no table ${unknown.name}.`);
    await client.query(`TRUNCATE ${present.join(', ')}`);
    for (const name of present) await client.query(`ALTER TABLE ${name} DISABLE TRIGGER USER`);
    for (const [place, table] of tables.entries()) {
      this.options.progress(`table ${place + 1} of ${tables.length}: ${table.name}, ${table.rows} rows`);
      await readTable(client, table, this.destination);
    }
    for (const name of present) await client.query(`ALTER TABLE ${name} ENABLE TRIGGER USER`);
    for (const { name, value } of sequences) await client.query('SELECT setval($1, $2)', [name, value]);
  }
}
