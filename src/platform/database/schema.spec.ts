import type { DataSource } from 'typeorm';
import { assertSchema, migrate, migrationStatus } from './schema.js';

/** All releases wait for each other on it. */
const MIGRATION_LOCK = 7_305_118;
const [FIRST, SECOND] = ['First1764633600000', 'Second1764720000000'];
const lockTimeout = () => Object.assign(new Error('lock timeout'), { code: '55P03' });

describe('the schema', () => {
  /** Names in the table of migrations; null without the table. */
  let done: string[] | null;
  /** Those in the table of migrations that a process must know. */
  let required: string[];
  /** What the lock, and the data source, were asked for. */
  let steps: unknown[];
  let failures: Error[];
  let runMigrations: jest.Mock;
  let dataSource: DataSource;

  beforeEach(() => {
    jest.useFakeTimers();
    done = [FIRST];
    [required, steps, failures] = [[], [], []];
    const runner = {
      startTransaction: async () => void steps.push('start'),
      rollbackTransaction: async () => void steps.push('rollback'),
      release: async () => void steps.push('release'),
      hasTable: async () => done !== null,
      query: async (sql: string, parameters?: unknown[]) => {
        if (sql.includes('FROM required_migrations')) return required.map((name) => ({ name }));
        if (sql.includes('FROM migrations')) return done?.map((name) => ({ name }));
        steps.push(parameters ? [sql, ...parameters] : sql.replace(/\s+/g, ' '));
        return [];
      },
    };
    runMigrations = jest.fn(async () => {
      const failure = failures.shift();
      if (failure) throw failure;
      steps.push('migrations');
    });
    class Named {
      name = FIRST;
    }
    class Second1764720000000 {}
    dataSource = {
      createQueryRunner: () => runner,
      migrations: [new Named(), new Second1764720000000()],
      runMigrations,
      query: async (sql: string, parameters: unknown[]) => void steps.push([sql.slice(0, 22), ...parameters]),
    } as unknown as DataSource;
  });

  afterEach(() => jest.useRealTimers());

  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  it('is migrated under a lock of the transaction that waits without a limit, and is given back', async () => {
    await expect(migrate(dataSource)).resolves.toEqual([SECOND]);
    expect(steps).toEqual([
      'start',
      `SELECT set_config('lock_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)`,
      ['SELECT pg_advisory_xact_lock($1)', MIGRATION_LOCK],
      'SELECT',
      'migrations',
      'rollback',
      'release',
    ]);
  });

  it.each([
    ['empty', null, [FIRST, SECOND]],
    ['complete', [FIRST, SECOND], []],
  ])('that is %s gets what it lacks', async (_, before, ran) => {
    done = before;
    await expect(migrate(dataSource)).resolves.toEqual(ran);
  });

  it('of a newer release is tolerated, also by the migrations of an older one', async () => {
    done = [FIRST, SECOND, 'Third1764806400000'];
    required = [FIRST];
    await expect(assertSchema(dataSource)).resolves.toBeUndefined();
    await expect(migrate(dataSource)).resolves.toEqual([]);
  });

  it('of a newer release is refused when it lacks what this one uses', async () => {
    done = [FIRST, SECOND, 'Third1764806400000', 'Fourth1764892800000'];
    required = [FIRST, 'Third1764806400000'];
    const refusal =
      'Newer releases have removed what this one uses from the database (it lacks Third1764806400000). ' +
      'Run a newer release, or restore a backup.';
    await expect(migrate(dataSource)).rejects.toMatchObject({ name: 'SchemaMismatch', message: refusal });
    expect(runMigrations).not.toHaveBeenCalled();
    expect(steps.slice(-2)).toEqual(['rollback', 'release']);
    await expect(assertSchema(dataSource)).rejects.toMatchObject({ name: 'SchemaMismatch', message: refusal });
  });

  it('is tried again every second while another session holds a table, and after a deadlock', async () => {
    failures = [lockTimeout(), Object.assign(new Error('deadlock detected'), { code: '40P01' })];
    const messages: string[] = [];
    const migrated = migrate(dataSource, { onWait: (message) => messages.push(message) });
    await pass(999);
    expect(runMigrations).toHaveBeenCalledTimes(1);
    await pass(1);
    expect(runMigrations).toHaveBeenCalledTimes(2);
    await pass(1000);
    await expect(migrated).resolves.toEqual([SECOND]);
    expect(messages).toEqual(['Another session holds a table that has to change. Trying again every second.']);
  });

  it('is given up after ten minutes, with what to do, and the lock is given back', async () => {
    failures = Array.from({ length: 700 }, lockTimeout);
    const refused = expect(migrate(dataSource)).rejects.toMatchObject({
      name: 'TableLocked',
      message: expect.stringMatching(/^Another session, such as pg_dump, .* Run the command again when /),
    });
    await pass(600_000);
    expect(steps).not.toContain('release');
    await pass(1000);
    await refused;
    expect(runMigrations).toHaveBeenCalledTimes(602);
    expect(steps.slice(-2)).toEqual(['rollback', 'release']);
  });

  it('is given up at once for any other error', async () => {
    failures = [new Error('syntax error')];
    await expect(migrate(dataSource)).rejects.toThrow('syntax error');
    expect(runMigrations).toHaveBeenCalledTimes(1);
    expect(steps.slice(-2)).toEqual(['rollback', 'release']);
  });

  it('must be complete for a start, which says which command brings it up to date', async () => {
    await expect(assertSchema(dataSource)).rejects.toMatchObject({
      name: 'SchemaMismatch',
      message:
        'The database lacks migrations: run "node dist/commands/migrate.js" ("npm run migrate" in a checkout or an extension) first. ' +
        `Missing: ${SECOND}.`,
    });
    done = [];
    await expect(assertSchema(dataSource)).rejects.toThrow(/Missing: all of them\.$/);
    done = [FIRST, SECOND];
    await expect(assertSchema(dataSource)).resolves.toBeUndefined();
    expect(steps).toEqual(['release', 'release', 'release']);
  });

  it('of a release whose migrations are one now counts that as done, and only when all of them ran', async () => {
    class Replacing {
      name = 'Schema1764633500000';
      replaces = { release: 'v0.1.0', names: [FIRST, SECOND] };
    }
    (dataSource.migrations as unknown[]).splice(0, 2, new Replacing());
    await expect(assertSchema(dataSource)).rejects.toThrow(
      'The database is older than release v0.1.0: run the migrations of that release first.',
    );
    await expect(migrate(dataSource)).rejects.toThrow(/older than release v0\.1\.0/);
    expect(runMigrations).not.toHaveBeenCalled();

    done = [FIRST, SECOND];
    required = [SECOND];
    await expect(assertSchema(dataSource)).resolves.toBeUndefined();
    await expect(migrationStatus(dataSource)).resolves.toMatchObject([{ name: 'Schema1764633500000', status: 'done' }]);
    await expect(migrate(dataSource)).resolves.toEqual([]);
    expect(steps).toContainEqual(['INSERT INTO migrations', 1764633500000, 'Schema1764633500000']);
  });

  it('is listed with what is done, what is pending, and what a newer release did', async () => {
    done = [FIRST, 'Third1764806400000'];
    await expect(migrationStatus(dataSource)).resolves.toEqual([
      { name: FIRST, status: 'done', written_at: '2025-12-02T00:00:00.000Z' },
      { name: SECOND, status: 'pending', written_at: '2025-12-03T00:00:00.000Z' },
      { name: 'Third1764806400000', status: 'of a newer release', written_at: '2025-12-04T00:00:00.000Z' },
    ]);
    expect(steps).toEqual(['release']);
  });
});
