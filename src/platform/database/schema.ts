import type { DataSource, QueryRunner } from 'typeorm';

/** The same number in all releases: two processes that migrate wait for each other on it. */
const MIGRATION_LOCK = 7_305_118;

class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch';
}

/**
 * Brings the schema up to date, one process at a time.
 * @returns the names of the migrations that ran.
 * @throws SchemaMismatch when the schema is newer than this code.
 */
export async function migrate(dataSource: DataSource): Promise<string[]> {
  const lock = dataSource.createQueryRunner();
  try {
    await lock.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const { unknown } = await compareSchema(dataSource, lock);
    refuseNewer(unknown);
    const ran = await dataSource.runMigrations();
    return ran.map((migration) => migration.name);
  } finally {
    await lock.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
    await lock.release();
  }
}

/** @throws SchemaMismatch when the schema is not the one that this code was written for. */
export async function assertSchema(dataSource: DataSource): Promise<void> {
  const runner = dataSource.createQueryRunner();
  try {
    const { unknown, pending } = await compareSchema(dataSource, runner);
    refuseNewer(unknown);
    if (pending.length > 0) {
      const command = '"node dist/commands/migrate.js" ("npm run migrate" in a checkout)';
      throw new SchemaMismatch(`The database lacks the migrations ${pending.join(', ')}: run ${command} first.`);
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
