import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Extension } from '../extension.js';
import { grantsOf } from '../migrations/grants.js';
import { migrationsOf } from '../migrations/migrations.js';
import { InvalidEnvironmentError, readEnv } from '../platform/config/env.js';
import { protectProcess } from '../platform/config/process-protection.js';
import { withMigrations } from '../platform/database/data-source.js';
import { applyGrants } from '../platform/database/grants.js';
import { assertSchema, migrate, migrationStatus } from '../platform/database/schema.js';
import { formatOutput } from './admin/format-output.js';

/** Between two looks at the schema. */
const WAIT_PAUSE_MS = 1000;

export function runMigrations(extensions: Extension[]): Promise<string> {
  return withDataSource(extensions, async (dataSource) => {
    const ran = await migrate(dataSource, { onWait: (message) => process.stderr.write(`${message}\n`) });
    const isNewer = (await migrationStatus(dataSource)).some(({ status }) => status === 'of a newer release');
    await applyGrants(dataSource, grantsOf(extensions), { onlyAdds: isNewer });
    return ran.length > 0 ? `migrated: ${ran.join(', ')}` : 'the schema is up to date';
  });
}

export function showStatus(extensions: Extension[]): Promise<string> {
  return withDataSource(extensions, async (dataSource) =>
    formatOutput({ migrations: await migrationStatus(dataSource) }),
  );
}

/**
 * Waits until another process has brought the schema up to date. What it waits for is written to standard error once.
 * @throws the last problem when it takes longer than `seconds`.
 */
export async function waitForSchema(seconds: number, extensions: Extension[]): Promise<string> {
  const until = performance.now() + seconds * 1000;
  let told = '';
  for (;;) {
    try {
      return await withDataSource(extensions, async (dataSource) => {
        await assertSchema(dataSource);
        return 'the schema is up to date';
      });
    } catch (error) {
      const { message } = error as Error;
      if (error instanceof InvalidEnvironmentError || performance.now() > until) throw error;
      if (message !== told) process.stderr.write(`waiting: ${message}\n`);
      told = message;
      await delay(WAIT_PAUSE_MS);
    }
  }
}

async function withDataSource<T>(extensions: Extension[], work: (dataSource: DataSource) => Promise<T>): Promise<T> {
  const env = readEnv(process.env);
  protectProcess();
  return await withMigrations(env, migrationsOf(extensions), work);
}
