/** `npm run migrate`: brings the schema of DATABASE_URL up to date and says what it did. */
import { extensions } from '../extensions.js';
import { migrationsOf } from '../migrations/migrations.js';
import { readEnv } from '../platform/config/env.js';
import { migrationDataSource } from '../platform/database/data-source.js';
import { migrate } from '../platform/database/schema.js';

try {
  const dataSource = migrationDataSource(readEnv(process.env), migrationsOf(extensions));
  await dataSource.initialize();
  try {
    const ran = await migrate(dataSource);
    process.stdout.write(ran.length > 0 ? `migrated: ${ran.join(', ')}\n` : 'the schema is up to date\n');
  } finally {
    await dataSource.destroy();
  }
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
