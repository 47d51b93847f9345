import type { INestApplicationContext } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { Extension } from '../../extension.js';
import { grantsOf } from '../../migrations/grants.js';
import { migrationsOf } from '../../migrations/migrations.js';
import { BackupDestination } from '../../modules/backups/backup-destination.js';
import { type BackupManifest, InvalidBackupError } from '../../modules/backups/backup-format.js';
import { BackupRun } from '../../modules/backups/backup-run.js';
import { RestoreRun, verifyBackup } from '../../modules/backups/restore-run.js';
import { CounterAuditService } from '../../modules/recordings/usage-counters/counter-audit.service.js';
import { Env, readEnv } from '../../platform/config/env.js';
import { protectProcess } from '../../platform/config/process-protection.js';
import { withMigrations } from '../../platform/database/data-source.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { applyGrants } from '../../platform/database/grants.js';
import { migrate, type ReplacingMigration } from '../../platform/database/schema.js';
import { inOperatorsWords } from '../../platform/database/unavailable.js';
import { SecretsService } from '../../platform/secrets.service.js';
import { countUnreadable } from '../../platform/storage/encryption/key-wrappers.js';
import { recordByOperator } from './admin-context.js';
import { withStoredBytes } from './object-store.js';

/** Between two lines of progress. */
const PROGRESS_MS = 1000;
/** Exit code of what was done, but not with everything. */
export const INCOMPLETE = 2;

interface Place {
  /** Instead of BACKUP_DESTINATION. */
  place?: string;
}

interface BackupOptions extends Place {
  keep?: number;
  full?: true;
  onlyErasures?: true;
  allowMissing?: true;
}

interface RestoreOptions extends Place {
  backup?: string;
  continue?: true;
  allowDamaged?: true;
}

/** Makes a backup while the service runs. Exit code 2 when the storage lacks objects that the database names. */
export const makeBackup =
  (extensions: Extension[]) =>
  async (app: INestApplicationContext, options: BackupOptions): Promise<object> => {
    const env = app.get(Env);
    return await withDestination(env, options, (destination) =>
      withStoredBytes(env, extensions, async (store, spool) => {
        await spool.prepare();
        const { keep = null, full = false, allowMissing = false } = options;
        const secretKeyId = app.get(SecretsService).keyId;
        const run = new BackupRun(env, app.get(DatabaseService), store, destination, {
          keep,
          full,
          allowMissing,
          secretKeyId,
          progress: progressLines(),
        });
        if (options.onlyErasures) return { destination: destination.location, erasures: await run.writeErasures() };
        const { manifest, removed } = await run.run();
        recordByOperator(app, 'backup made', { backup_id: manifest.id });
        if (manifest.objects.missing > 0) process.exitCode = INCOMPLETE;
        return { destination: destination.location, ...present(manifest), removed_backups: removed };
      }),
    );
  };

/** From the newest to the oldest. */
export async function listBackups(app: INestApplicationContext, options: Place): Promise<object> {
  return await withDestination(app.get(Env), options, async (destination) => {
    const found = (await destination.backups()).toReversed();
    const backups: object[] = [];
    for (const { id, isComplete } of found) {
      backups.push(isComplete ? present(await destination.manifest(id)) : { backup: id, at: 'interrupted' });
    }
    return { destination: destination.location, backups };
  });
}

/** Reads all of a backup. Exit code 1 when something is damaged or missing. */
export async function verifyBackedUp(app: INestApplicationContext, options: RestoreOptions): Promise<object> {
  return await withDestination(app.get(Env), options, async (destination) => {
    const manifest = await chosen(destination, options);
    const { files, objects, damaged } = await verifyBackup(destination, manifest, progressLines());
    if (damaged.length > 0) process.exitCode = 1;
    return { destination: destination.location, backup: manifest.id, verified: { files, objects }, damaged };
  });
}

/**
 * Restores a backup into an empty database and an empty storage. It runs without the application, which does not start on
 * a database without a schema. Exit code 2 when objects were left out.
 */
export async function restoreBackup(extensions: Extension[], options: RestoreOptions): Promise<object> {
  const env = readEnv({ ...process.env, ROLES: undefined });
  protectProcess();
  return await inOperatorsWords(env, () =>
    withDestination(env, options, (destination) =>
      withStoredBytes(env, extensions, async (store, spool) => {
        await spool.prepare();
        const manifest = await chosen(destination, options);
        refuseOtherKey(new SecretsService(env), manifest);
        await prepareSchema(env, extensions, manifest);
        const { continue: goOn = false, allowDamaged = false } = options;
        const settings = { goOn, allowDamaged, progress: progressLines() };
        const result = await new RestoreRun(env, store, spool, destination, manifest, settings).run();
        const { ran, unreadableKeys } = await finishSchema(env, extensions, result.changedAccounts);
        if (result.damaged.length > 0) process.exitCode = INCOMPLETE;
        return {
          backup: manifest.id,
          at: manifest.at,
          restored: { rows: result.rows, objects: result.objects },
          bytes: result.bytes,
          left_out: result.damaged,
          erased_again: result.erased,
          migrated: ran,
          unreadable_audio_keys: unreadableKeys,
          advice: adviceOn(unreadableKeys),
        };
      }),
    ),
  );
}

function adviceOn(unreadableKeys: number): string {
  const ended = 'Sessions, sign-in links and access tokens have ended. Start the service with an empty Redis.';
  if (unreadableKeys === 0) return ended;
  return (
    `${ended} Give it the STORAGE_KEY, SECRET_KEY_PREVIOUS or STORAGE_KMS_URL of the time of the backup: nothing here can ` +
    `unwrap ${unreadableKeys} keys of audio, and without them the audio cannot be read.`
  );
}

async function withDestination<T>(
  env: Env,
  { place }: Place,
  use: (destination: BackupDestination) => Promise<T>,
): Promise<T> {
  const location = place ?? env.backupDestination;
  if (location === null) throw new Error('Set BACKUP_DESTINATION, or give a folder or s3://bucket/prefix.');
  const destination = await BackupDestination.open(env, location);
  try {
    return await use(destination);
  } finally {
    destination.close();
  }
}

async function chosen(destination: BackupDestination, { backup }: RestoreOptions): Promise<BackupManifest> {
  const complete = (await destination.backups()).filter(({ isComplete }) => isComplete);
  const found = backup === undefined ? complete.at(-1) : complete.find(({ id }) => id === backup);
  if (found) return await destination.manifest(found.id);
  throw new InvalidBackupError(
    backup === undefined
      ? `${destination.location} has no complete backup.`
      : `${destination.location} has no complete backup ${backup}. See backup:list.`,
  );
}

function refuseOtherKey(secrets: SecretsService, { id, secret_key_id: keyId }: BackupManifest): void {
  if (secrets.madeUnder(keyId) !== null) return;
  throw new InvalidBackupError(
    `The backup ${id} was made under another SECRET_KEY. Set SECRET_KEY to that one, or SECRET_KEY_PREVIOUS, or no API ` +
      'key and no webhook secret can be used.',
  );
}

/** Brings an empty database to the schema of the backup. */
async function prepareSchema(env: Env, extensions: Extension[], { id, migrations }: BackupManifest): Promise<void> {
  const all = migrationsOf(extensions);
  const isOf = (migration: (typeof all)[number]): boolean => {
    const replaced = (new migration() as Partial<ReplacingMigration>).replaces?.names;
    return migrations.includes(migration.name) || (replaced?.every((name) => migrations.includes(name)) ?? false);
  };
  const known = new Set(
    all.flatMap((one) => [one.name, ...((new one() as Partial<ReplacingMigration>).replaces?.names ?? [])]),
  );
  const unknown = migrations.find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new InvalidBackupError(`The backup ${id} is of a newer release, or of another extension: it has ${unknown}.`);
  }
  await withMigrations(env, all.filter(isOf), async (dataSource) => {
    await refuseFullDatabase(dataSource, migrations);
    await migrate(dataSource);
  });
}

async function refuseFullDatabase(dataSource: DataSource, migrations: readonly string[]): Promise<void> {
  const exists = async (table: string): Promise<boolean> =>
    (await dataSource.query<unknown[]>('SELECT 1 WHERE to_regclass($1) IS NOT NULL', [table])).length > 0;
  if (!(await exists('accounts'))) return;
  if ((await dataSource.query<unknown[]>('SELECT 1 FROM accounts LIMIT 1')).length > 0) {
    throw new InvalidBackupError('The database has accounts. Restore into an empty database.');
  }
  const rows = await dataSource.query<{ name: string }[]>('SELECT name FROM migrations');
  const newer = rows.find(({ name }) => !migrations.includes(name));
  if (newer && !newer.name.startsWith('InitialSchema')) {
    throw new InvalidBackupError(
      `The database has the schema of a newer release than the backup (${newer.name}). Restore into a database without tables.`,
    );
  }
}

/** What came after the backup, what depends on rows that were erased, and what the environment lacks. */
async function finishSchema(
  env: Env,
  extensions: Extension[],
  accounts: readonly string[],
): Promise<{ ran: string[]; unreadableKeys: number }> {
  return await withMigrations(env, migrationsOf(extensions), async (dataSource) => {
    const ran = await migrate(dataSource);
    await applyGrants(dataSource, grantsOf(extensions));
    const database = new DatabaseService(dataSource);
    const counters = new CounterAuditService(database);
    for (const account of accounts) await counters.rebuild(account);
    return { ran, unreadableKeys: await countUnreadable(env, database) };
  });
}

/** Writes to standard error, now and then. */
export function progressLines(): (message: string) => void {
  let last = 0;
  return (message) => {
    const now = performance.now();
    if (now - last < PROGRESS_MS) return;
    last = now;
    process.stderr.write(`${message}\n`);
  };
}

function present({ id, at, finished_at, tables, objects }: BackupManifest) {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const { count, bytes, copied, erased, missing, missing_keys } = objects;
  return {
    backup: id,
    at,
    finished_at,
    rows,
    objects: count,
    bytes,
    copied,
    erased_meanwhile: erased,
    missing,
    missing_keys,
  };
}
