import type { DataSource } from 'typeorm';
import { migrationsOf } from '../../src/migrations/migrations.js';
import { readEnv } from '../../src/platform/config/env.js';
import { migrationDataSource } from '../../src/platform/database/data-source.js';
import { migrate } from '../../src/platform/database/schema.js';
import { useEnvironment } from '../../src/testing/test-environment.js';

/** Columns, constraints, indexes, triggers and functions, as Postgres describes them. */
async function schemaOf(dataSource: DataSource): Promise<unknown[]> {
  return await dataSource.query(`
    SELECT 'column' AS kind, table_name || '.' || column_name AS name, data_type || is_nullable AS definition
      FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT 'constraint', conname, pg_get_constraintdef(oid) FROM pg_constraint
      WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
    UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'function', proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    ORDER BY 1, 2, 3`);
}

const names = async (dataSource: DataSource): Promise<string> => JSON.stringify(await schemaOf(dataSource));

describe('migrations', () => {
  const environment = useEnvironment();
  let dataSource: DataSource;

  beforeAll(async () => {
    dataSource = await migrationDataSource(readEnv(environment.variables), migrationsOf([])).initialize();
  });

  afterAll(async () => {
    await dataSource?.destroy();
  });

  it('the latest one can be undone and run again, and gives the same schema', async () => {
    const latest = await schemaOf(dataSource);
    await dataSource.undoLastMigration();
    expect(await schemaOf(dataSource)).not.toEqual(latest);
    await expect(migrate(dataSource)).resolves.toHaveLength(1);
    expect(await schemaOf(dataSource)).toEqual(latest);
  });

  it('leave no name of the first release behind', async () => {
    expect(await names(dataSource)).not.toMatch(/tall(y|ies)|epoch/);
  });
});
