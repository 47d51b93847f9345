import { useEnvironment } from '../../../src/testing/test-environment.js';
import { runBuilt } from '../../support/service/cli.js';

const MIGRATE = 'dist/commands/migrate.js';

describe('on a database without the schema', () => {
  const environment = useEnvironment();
  const run = (file: string, ...args: string[]) => {
    // Every PostgreSQL server has this database, and nothing of ours is in it.
    const url = new URL(environment.variables.DATABASE_URL as string);
    url.pathname = '/postgres';
    return runBuilt(
      { variables: { ...environment.variables, LOG_LEVEL: 'info', DATABASE_URL: url.href } },
      file,
      ...args,
    );
  };

  it('a process ends with one line that names the command to run', async () => {
    const { code, stdout, stderr } = await run('dist/main.js');

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^The database lacks migrations: run "node dist\/commands\/migrate\.js".*\n$/);
  });

  it('migrate --status lists the pending migrations and changes nothing', async () => {
    for (let time = 0; time < 2; time++) {
      const { code, stdout, stderr } = await run(MIGRATE, '--status');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(
        /^migrations:\n {2}name +status +written_at\n {2}InitialSchema\d{13} +pending +2025-11-21T00:00/,
      );
      expect(stdout).not.toContain('done');
    }
  });

  it('migrate --status says done where the schema is there', async () => {
    const { stdout } = await runBuilt(environment, MIGRATE, '--status');
    expect(stdout).toMatch(/ {2}InitialSchema\d{13} +done/);
    expect(stdout).not.toContain('pending');
  });

  it('migrate --wait waits, says once for what, and fails with it', async () => {
    const lacks = String.raw`The database lacks migrations: .*Missing: all of them\.\n`;
    const { code, stdout, stderr } = await run(MIGRATE, '--wait', '2');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    // A busy machine may take all the time for the first look.
    expect(stderr).toMatch(new RegExp(`^(waiting: ${lacks})?${lacks}$`));
  });

  it('migrate --wait ends at once where the schema is there, and not with values that make no sense', async () => {
    const there = await runBuilt(environment, MIGRATE, '--wait', '60');
    expect(there).toEqual({ code: 0, stdout: 'the schema is up to date\n', stderr: '' });
    const never = await runBuilt({ variables: {} }, MIGRATE, '--wait', '0');
    expect(never).toMatchObject({ code: 1, stderr: expect.stringMatching(/must be an integer from 1 to 99999/) });
    const incomplete = await runBuilt({ variables: {} }, MIGRATE, '--wait', '60');
    expect(incomplete).toMatchObject({ code: 1, stderr: expect.stringMatching(/^Invalid environment variables:/) });
  });

  it('migrate refuses an unknown option with exit code 1, and prints help with 0, without a database', async () => {
    const wrong = await runBuilt({ variables: {} }, MIGRATE, '--state');
    expect(wrong).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/unknown option '--state'/) });
    const help = await runBuilt({ variables: {} }, MIGRATE, '--help');
    expect(help).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/--status/) });
  });
});
