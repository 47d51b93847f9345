import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runBuilt } from '../../support/service/cli.js';
import { ROOT } from '../../support/paths.js';
import { useService } from '../../../src/testing/test-service.js';

/** One is native, the other TypeORM loads by a name that it computes. */
const NOT_BUNDLED = ['koffi', 'pg'];

describe('the built command lines hold the packages that they use', () => {
  const { environment } = useService({ ROLES: 'api' });

  it.each([
    ['dist/commands/cli.js', 'account:list'],
    ['dist/commands/migrate.js', '--status'],
  ])('%s %s', async (file, argument) => {
    const { dependencies } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8'));
    const scripts = await scriptsOf(file, argument);

    expect(scripts).toContainEqual(expect.stringMatching(new RegExp(`${file}$`)));
    const loaded = Object.keys(dependencies).filter((name) =>
      scripts.some((url) => url.includes(`/node_modules/${name}/`)),
    );
    expect(loaded).toEqual(NOT_BUNDLED);
  });

  /** The addresses of all scripts that a command loaded, as V8 reports them. */
  async function scriptsOf(file: string, argument: string): Promise<string[]> {
    const folder = await mkdtemp(path.join(tmpdir(), 'scripts-'));
    try {
      const variables = { ...environment.variables, NODE_V8_COVERAGE: folder };
      expect(await runBuilt({ variables }, file, argument)).toMatchObject({ code: 0, stderr: '' });
      const [report] = await readdir(folder);
      const { result } = JSON.parse(await readFile(path.join(folder, String(report)), 'utf8'));
      return (result as { url: string }[]).map(({ url }) => url);
    } finally {
      await rm(folder, { recursive: true });
    }
  }
});
