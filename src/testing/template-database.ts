import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import { readEnv } from '../platform/config/env.js';
import { type Migration, migrationDataSource } from '../platform/database/data-source.js';
import { migrate } from '../platform/database/schema.js';

/** Held while a template is created: test files that run at the same time create it once. */
const TEMPLATE_LOCK = 4711;

/**
 * A database to which these migrations were applied, to be copied. Its name contains a hash of their names, because
 * tests with other extensions need another schema.
 * @param environmentOf the service's environment variables for a database.
 */
export async function templateDatabase(
  admin: Client,
  migrations: Migration[],
  environmentOf: (database: string) => Record<string, string>,
): Promise<string> {
  const names = migrations.map(({ name }) => name).join('\n');
  const template = `template_${createHash('sha256').update(names).digest('hex').slice(0, 16)}`;
  const unfinished = `${template}_unfinished`;
  await admin.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
  try {
    const { rowCount } = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [template]);
    if (rowCount) return template;
    await admin.query(`DROP DATABASE IF EXISTS ${unfinished} WITH (FORCE)`);
    await admin.query(`CREATE DATABASE ${unfinished}`);
    await applyMigrations(environmentOf(unfinished), migrations);
    await admin.query(`ALTER DATABASE ${unfinished} RENAME TO ${template}`);
    return template;
  } finally {
    await admin.query('SELECT pg_advisory_unlock($1)', [TEMPLATE_LOCK]);
  }
}

async function applyMigrations(variables: Record<string, string>, migrations: Migration[]): Promise<void> {
  const dataSource = await migrationDataSource(readEnv(variables), migrations).initialize();
  try {
    await migrate(dataSource);
  } finally {
    await dataSource.destroy();
  }
}
