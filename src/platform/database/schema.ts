import type { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import { type LockWait, retryWhileLocked } from './migration-steps.js';

/** The same number in all releases: two processes that migrate wait for each other on it. */
export const MIGRATION_LOCK = 7_305_118;

class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch';
}

/** One that does what several did in an earlier release. A database that has run all of them counts it as done. */
export interface ReplacingMigration extends MigrationInterface {
  replaces: { release: string; names: string[] };
}

/**
 * Brings the schema up to date, one process at a time. A table that another session holds, such as pg_dump, is waited
 * for in short attempts, because every request for it waits behind a statement that wants to change it.
 * @returns the names of the migrations that ran.
 * @throws SchemaMismatch when newer migrations have removed what this code uses.
 */
export async function migrate(dataSource: DataSource, options: LockWait = {}): Promise<string[]> {
  const lock = dataSource.createQueryRunner();
  try {
    // A lock of the transaction, because behind a pooler the session changes with each.
    await lock.startTransaction();
    await lock.query(`SELECT set_config('lock_timeout', '0', true),
      set_config('idle_in_transaction_session_timeout', '0', true)`);
    await lock.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    const { pending, replaced, ...difference } = await compareSchema(dataSource, lock);
    refuseOthers(difference);
    // A statement with parameters keeps its snapshot until the next one, and CREATE INDEX CONCURRENTLY waits for it.
    await lock.query('SELECT');
    for (const name of replaced) await recordAsDone(dataSource, name);
    // Each migration has a transaction of its own: an attempt goes on after the last one that was committed.
    await retryWhileLocked(() => dataSource.runMigrations(), options);
    return pending;
  } finally {
    await lock.rollbackTransaction().catch(() => undefined);
    await lock.release();
  }
}

class MissingTimeLimit extends Error {
  override readonly name = 'MissingTimeLimit';

  constructor(role: string) {
    super(
      `DATABASE_POOLER=true, and the role has no time limit for statements: a single one could run for ever. ` +
        `Run: ALTER ROLE ${role} SET statement_timeout = '15s'`,
    );
  }
}

/** Behind a pooler the service can set limits in transactions only. @throws MissingTimeLimit */
export async function assertTimeLimit(dataSource: DataSource): Promise<void> {
  const [row] = await dataSource.query<{ timeout: string; role: string }[]>(
    `SELECT current_setting('statement_timeout') AS timeout, quote_ident(current_user) AS role`,
  );
  if (row?.timeout === '0') throw new MissingTimeLimit(row.role);
}

/**
 * Newer migrations are tolerated, so that a process of the old release can be restarted during an upgrade.
 * @throws SchemaMismatch when the schema lacks a migration, or newer ones have removed what this code uses.
 */
export async function assertSchema(dataSource: DataSource): Promise<void> {
  const runner = dataSource.createQueryRunner();
  try {
    const { known, pending, ...difference } = await compareSchema(dataSource, runner);
    refuseOthers(difference);
    if (pending.length > 0) {
      const command = '"node dist/commands/migrate.js" ("npm run migrate" in a checkout or an extension)';
      // Before the names, of which there can be many.
      const names = pending.length === known.length ? 'all of them' : pending.join(', ');
      throw new SchemaMismatch(`The database lacks migrations: run ${command} first. Missing: ${names}.`);
    }
  } finally {
    await runner.release();
  }
}

export interface MigrationStatus {
  name: string;
  status: 'done' | 'pending' | 'of a newer release';
  /** When the migration was written: its name ends with this time. TypeORM does not record when it ran. */
  written_at: string;
}

/** Every migration of this code and of the database. */
export async function migrationStatus(dataSource: DataSource): Promise<MigrationStatus[]> {
  const runner = dataSource.createQueryRunner();
  try {
    const { known, unknown, pending } = await compareSchema(dataSource, runner);
    const statusOf = (name: string) => (pending.includes(name) ? 'pending' : 'done');
    return [
      ...known.map((name) => ({ name, status: statusOf(name), written_at: writtenAt(name) }) as const),
      ...unknown.map((name) => ({ name, status: 'of a newer release', written_at: writtenAt(name) }) as const),
    ];
  } finally {
    await runner.release();
  }
}

const writtenAt = (name: string): string => new Date(timestampOf(name)).toISOString();

/** The milliseconds at the end of the name, by which TypeORM orders migrations. */
const timestampOf = (name: string): number => Number(name.slice(-13));

async function recordAsDone(dataSource: DataSource, name: string): Promise<void> {
  await dataSource.query('INSERT INTO migrations ("timestamp", name) VALUES ($1, $2)', [timestampOf(name), name]);
}

function refuseOthers({ missing, earlier }: { missing: string[]; earlier: string | undefined }): void {
  if (earlier !== undefined) {
    throw new SchemaMismatch(
      `The database is older than release ${earlier}: run the migrations of that release first.`,
    );
  }
  if (missing.length > 0) {
    throw new SchemaMismatch(
      `Newer releases have removed what this one uses from the database (it lacks ${missing.join(', ')}). ` +
        'Run a newer release, or restore a backup.',
    );
  }
}

async function compareSchema(dataSource: DataSource, runner: QueryRunner) {
  const [recorded, required] = [await namesIn(runner, 'migrations'), await namesIn(runner, 'required_migrations')];
  const done = new Set(recorded);
  const migrations = dataSource.migrations.map((migration) => ({
    name: migration.name ?? migration.constructor.name,
    replaces: (migration as Partial<ReplacingMigration>).replaces,
  }));
  const known = migrations.map(({ name }) => name);
  const open = migrations.filter(({ name }) => !done.has(name));
  const replaced = open.filter(({ replaces }) => replaces?.names.every((name) => done.has(name)));
  const pending = open.filter((migration) => !replaced.includes(migration));
  const understood = new Set([...known, ...migrations.flatMap(({ replaces }) => replaces?.names ?? [])]);
  return {
    known,
    pending: pending.map(({ name }) => name),
    /** Done under the names of earlier migrations. */
    replaced: replaced.map(({ name }) => name),
    unknown: recorded.filter((name) => !understood.has(name)),
    /** What this code would have to know to fit. */
    missing: required.filter((name) => !understood.has(name)),
    /** The release whose migrations were only begun. */
    earlier: pending.find(({ replaces }) => replaces?.names.some((name) => done.has(name)))?.replaces?.release,
  };
}

async function namesIn(runner: QueryRunner, table: 'migrations' | 'required_migrations'): Promise<string[]> {
  if (!(await runner.hasTable(table))) return [];
  const rows = (await runner.query(`SELECT name FROM ${table}`)) as { name: string }[];
  return rows.map(({ name }) => name);
}
