import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource, QueryRunner } from 'typeorm';

/** The same number in all releases: two processes that migrate wait for each other on it. */
const MIGRATION_LOCK = 7_305_118;

class TableLocked extends Error {
  override readonly name = 'TableLocked';

  constructor() {
    super(
      'Another session, such as pg_dump, still holds a table that has to change; pg_stat_activity shows it. ' +
        'The migrations before it are done. Run the command again when that session has ended.',
    );
  }
}

class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch';
}

/** Between two attempts of a migration that waits for a table, so that the requests behind it get their turn. */
const LOCK_RETRY_MS = 2000;
/** Longer than most dumps hold a table. */
const LOCK_WAIT_MS = 600_000;
const LOCK_NOT_AVAILABLE = '55P03';

interface MigrateOptions {
  /** How long to wait for tables that other sessions hold. */
  lockWaitMs?: number;
  /** Called before each further attempt, with a sentence for an operator. */
  onWait?: (message: string) => void;
}

/**
 * Brings the schema up to date, one process at a time. A table that another session holds, such as pg_dump, is waited
 * for in short attempts, because every request for it waits behind a statement that wants to change it.
 * @returns the names of the migrations that ran.
 * @throws SchemaMismatch when the schema is newer than this code.
 */
export async function migrate(dataSource: DataSource, options: MigrateOptions = {}): Promise<string[]> {
  const lock = dataSource.createQueryRunner();
  try {
    // A lock of the transaction, because behind a pooler the session changes with each.
    await lock.startTransaction();
    await lock.query(`SELECT set_config('lock_timeout', '0', true),
      set_config('idle_in_transaction_session_timeout', '0', true)`);
    await lock.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    const { unknown, pending } = await compareSchema(dataSource, lock);
    refuseNewer(unknown);
    // A statement with parameters keeps its snapshot until the next one, and CREATE INDEX CONCURRENTLY waits for it.
    await lock.query('SELECT');
    await runPending(dataSource, options);
    return pending;
  } finally {
    await lock.rollbackTransaction().catch(() => undefined);
    await lock.release();
  }
}

async function runPending(
  dataSource: DataSource,
  { lockWaitMs = LOCK_WAIT_MS, onWait }: MigrateOptions,
): Promise<void> {
  const deadline = Date.now() + lockWaitMs;
  for (;;) {
    try {
      await dataSource.runMigrations();
      return;
    } catch (error) {
      if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error;
      if (Date.now() > deadline) throw new TableLocked();
      onWait?.('Another session holds a table that has to change. Trying again.');
      await delay(LOCK_RETRY_MS);
    }
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

/** @throws SchemaMismatch when the schema is not the one that this code was written for. */
export async function assertSchema(dataSource: DataSource): Promise<void> {
  const runner = dataSource.createQueryRunner();
  try {
    const { known, unknown, pending } = await compareSchema(dataSource, runner);
    refuseNewer(unknown);
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

function refuseNewer(unknown: string[]): void {
  if (unknown.length === 0) return;
  throw new SchemaMismatch(
    `The database was migrated by a newer release (${unknown.join(', ')}). Run that release, or restore a backup.`,
  );
}

async function compareSchema(dataSource: DataSource, runner: QueryRunner) {
  const known = dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name);
  const done = (await runner.hasTable('migrations'))
    ? ((await runner.query('SELECT name FROM migrations')) as { name: string }[]).map((row) => row.name)
    : [];
  return {
    known,
    unknown: done.filter((name) => !known.includes(name)),
    pending: known.filter((name) => !done.includes(name)),
  };
}
