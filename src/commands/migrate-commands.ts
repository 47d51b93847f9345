import type { DataSource } from 'typeorm';
import type { Extension } from '../extension.js';
import { grantsOf } from '../migrations/grants.js';
import { migrationsOf } from '../migrations/migrations.js';
import { readEnv } from '../platform/config/env.js';
import { protectProcess } from '../platform/config/process-protection.js';
import { connectionErrorMessage } from '../platform/database/unavailable.js';
import { migrationDataSource } from '../platform/database/data-source.js';
import { applyGrants } from '../platform/database/grants.js';
import { migrate, migrationStatus } from '../platform/database/schema.js';
import { formatOutput } from './admin/format-output.js';

export function runMigrations(extensions: Extension[]): Promise<string> {
  return withDataSource(extensions, async (dataSource) => {
    const ran = await migrate(dataSource, { onWait: (message) => process.stderr.write(`${message}\n`) });
    await applyGrants(dataSource, grantsOf(extensions));
    return ran.length > 0 ? `migrated: ${ran.join(', ')}` : 'the schema is up to date';
  });
}

export function showStatus(extensions: Extension[]): Promise<string> {
  return withDataSource(extensions, async (dataSource) =>
    formatOutput({ migrations: await migrationStatus(dataSource) }),
  );
}

async function withDataSource<T>(extensions: Extension[], work: (dataSource: DataSource) => Promise<T>): Promise<T> {
  const env = readEnv(process.env);
  protectProcess();
  const dataSource = migrationDataSource(env, migrationsOf(extensions));
  try {
    await dataSource.initialize();
    try {
      return await work(dataSource);
    } finally {
      await dataSource.destroy();
    }
  } catch (error) {
    throw new Error(connectionErrorMessage(error, env.databaseUrl) ?? (error as Error).message, { cause: error });
  }
}
