import type { DataSource, QueryRunner } from 'typeorm';
import { type LockWait, retryWhileLocked } from './migration-steps.js';

/** The same number in all releases: two processes that migrate wait for each other on it. */
const MIGRATION_LOCK = 7_305_118;

class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch';
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
    const { pending, missing } = await compareSchema(dataSource, lock);
    refuseTooNew(missing);
    // A statement with parameters keeps its snapshot until the next one, and CREATE INDEX CONCURRENTLY waits for it.
    await lock.query('SELECT');
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
    const { known, pending, missing } = await compareSchema(dataSource, runner);
    refuseTooNew(missing);
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

const writtenAt = (name: string): string => new Date(Number(name.slice(-13))).toISOString();

function refuseTooNew(missing: string[]): void {
  if (missing.length === 0) return;
  throw new SchemaMismatch(
    `Newer releases have removed what this one uses from the database (it lacks ${missing.join(', ')}). ` +
      'Run a newer release, or restore a backup.',
  );
}

async function compareSchema(dataSource: DataSource, runner: QueryRunner) {
  const known = dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name);
  const [done, required] = [await namesIn(runner, 'migrations'), await namesIn(runner, 'required_migrations')];
  return {
    known,
    unknown: done.filter((name) => !known.includes(name)),
    pending: known.filter((name) => !done.includes(name)),
    /** What this code would have to know to fit. */
    missing: required.filter((name) => !known.includes(name)),
  };
}

async function namesIn(runner: QueryRunner, table: 'migrations' | 'required_migrations'): Promise<string[]> {
  if (!(await runner.hasTable(table))) return [];
  const rows = (await runner.query(`SELECT name FROM ${table}`)) as { name: string }[];
  return rows.map(({ name }) => name);
}
