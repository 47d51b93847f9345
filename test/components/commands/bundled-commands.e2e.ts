import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { ServiceProcess } from '../../support/service/service-process.js';
import { runBuilt } from '../../support/service/cli.js';
import { ROOT } from '../../support/paths.js';
import { useService } from '../../../src/testing/test-service.js';

/** Native. */
const NOT_BUNDLED = ['koffi'];

describe('the built service and command lines', () => {
  const { environment } = useService({ ROLES: 'api' });
  let coverage: string;

  beforeEach(async () => {
    coverage = await mkdtemp(path.join(tmpdir(), 'scripts-'));
  });
  afterEach(() => rm(coverage, { recursive: true }));

  it.each([
    ['cli', ['dist/commands/cli.js', 'account:list']],
    ['migrate', ['dist/commands/migrate.js', '--status']],
  ])('%s holds the packages that it uses', async (bundle, [file = '', ...args]) => {
    const variables = { ...environment.variables, NODE_V8_COVERAGE: coverage };
    expect(await runBuilt({ variables }, file, ...args)).toMatchObject({ code: 0, stderr: '' });
    expect(await packagesLoadedBeside(bundle)).toEqual(NOT_BUNDLED);
  });

  it('main holds the packages that it uses', async () => {
    const service = await ServiceProcess.start(environment, 'api', { NODE_V8_COVERAGE: coverage });
    expect((await fetch(`${service.url}/openapi.json`)).status).toBe(200);
    await service.end('SIGTERM');
    expect(await packagesLoadedBeside('main')).toEqual(NOT_BUNDLED);
  });

  it('V8 takes the code that it has compiled for each bundle at build time', async () => {
    const script = `
      import { readdirSync } from 'node:fs';
      import { readScript } from './dist/bundles/loader.js';
      const files = readdirSync('dist/bundles').filter((name) => name.endsWith('.cjs'));
      console.log(JSON.stringify(files.map((name) => [name, readScript(name).cachedDataRejected])));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      cwd: ROOT,
    });
    const rejected = JSON.parse(stdout) as [string, boolean][];
    expect(rejected.length).toBeGreaterThan(3);
    expect(rejected.filter(([, isRejected]) => isRejected)).toEqual([]);
  });

  /** The dependencies of which a process loaded files, as V8 reports its scripts. */
  async function packagesLoadedBeside(bundle: string): Promise<string[]> {
    const [report] = await readdir(coverage);
    const { result } = JSON.parse(await readFile(path.join(coverage, String(report)), 'utf8'));
    const scripts = (result as { url: string }[]).map(({ url }) => url);
    expect(scripts).toContainEqual(expect.stringMatching(new RegExp(`^dist/bundles/${bundle}.cjs$`)));
    const { dependencies } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8'));
    return Object.keys(dependencies).filter((name) => scripts.some((url) => url.includes(`/node_modules/${name}/`)));
  }
});
