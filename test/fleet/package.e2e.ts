import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../../src/testing/eventually.js';
import { useEnvironment } from '../../src/testing/test-environment.js';
import { ROOT } from '../support/paths.js';
import { freePort } from '../support/servers/free-port.js';

const EXAMPLE = join(ROOT, 'examples', 'keyword-alerts');
const STEP_MS = 240_000;
const INSTALL = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];

/** Follows the README of the example in an empty folder outside the repository. Needs `nest build` and a registry. */
describe('the package, installed by a package that extends it', () => {
  const environment = useEnvironment();
  let folder: string;

  const run = async (command: string, args: string[], env: Record<string, string> = {}): Promise<string> => {
    // Without the TEST_ variables: the example's tests start servers of their own.
    const { PATH = '', HOME = '' } = process.env;
    const options = { cwd: folder, timeout: STEP_MS, env: { PATH, HOME, ...env } };
    return await promisify(execFile)(command, args, options).then(
      ({ stdout }) => stdout,
      (error: { stdout: string; stderr: string }) => {
        throw new Error(`${command} ${args.join(' ')} failed:\n${error.stdout}\n${error.stderr}`);
      },
    );
  };

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'voice-notes-package-')));
    await cp(EXAMPLE, folder, { recursive: true, filter: (path) => !/node_modules|dist|\.tgz$/.test(path) });
    await run('npm', ['pack', ROOT, '--ignore-scripts', '--loglevel=error']);
    // npm keeps what fits of these packages and removes the rest: unpacking all of them takes longer than the tests.
    await run('cp', ['-rl', join(ROOT, 'node_modules'), folder]).catch(() => undefined);
    // npm writes its list of packages in place: as a link, it would be that of the repository.
    const list = join(folder, 'node_modules', '.package-lock.json');
    await rm(list, { force: true });
    await cp(join(ROOT, 'node_modules', '.package-lock.json'), list).catch(() => undefined);
    await run('npm', INSTALL);
    // With a package npm removes programs of that name of another package.
    await run('npm', ['rebuild', '--ignore-scripts']);
  }, STEP_MS);

  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('shares each package with the service, in one version', async () => {
    const shared = [
      '@nestjs/common',
      '@nestjs/core',
      '@nestjs/swagger',
      '@nestjs/testing',
      '@nestjs/typeorm',
      'typeorm',
    ];
    const list = await run('npm', ['ls', '--all', '--parseable', ...shared]);
    const copies = list.split('\n').filter((path) => shared.some((name) => path.endsWith(`/node_modules/${name}`)));
    expect(copies.toSorted()).toEqual(shared.map((name) => join(folder, 'node_modules', name)));
  });

  it(
    'builds, migrates, starts and answers',
    async () => {
      await run('npm', ['run', 'build']);
      expect(await run('node', ['dist/migrate.js'], environment.variables)).toMatch(/^migrated: CreateKeywordAlerts/);
      const account = ['account:create', '--name', 'Test', '--email', 'test@example.com', '--json'];
      const created = await run('node', ['dist/admin.js', ...account], environment.variables);
      const { api_key: key, api_secret: secret } = JSON.parse(created) as { api_key: string; api_secret: string };

      const url = await start();
      const headers = { 'X-Service-API-Key': key, 'X-Service-API-Secret': secret };
      const answer = await fetch(`${url}/v1/keyword-alerts`, { headers });
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({ keyword_alerts: [], total: 0 });

      const page = await (await fetch(`${url}/`)).text();
      const [script = ''] = /\/assets\/[^"]+\.js/.exec(page) ?? [];
      const file = await fetch(url + script, { headers: { 'Accept-Encoding': 'br' } });
      expect(file.headers.get('content-encoding')).toBe('br');
    },
    STEP_MS,
  );

  it('passes the tests of the example on servers of its own', () => run('npm', ['test']), STEP_MS);

  /** Resolves when the service of the example is ready. @returns its URL */
  async function start(): Promise<string> {
    const port = await freePort();
    const env = { PATH: process.env.PATH, ...environment.variables, PORT: `${port}` };
    const child = spawn('node', ['dist/main.js'], { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] });
    environment.defer(async () => {
      child.kill('SIGTERM');
      await once(child, 'close');
    });
    const url = `http://127.0.0.1:${port}`;
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode} instead of starting`);
      return await fetch(`${url}/health/ready`).then(
        (response) => response.ok,
        () => false,
      );
    });
    return url;
  }
});
