import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startAdvisoryRegistry } from '../../test/support/servers/advisory-registry.mjs';
import { checkAdvisories } from './advisories.mjs';
import { cleanEnvironment } from './environment.mjs';
import { ROOT } from './paths.mjs';

/** A project that depends on `outer`, which depends on `inner`; `tool` is only for development. */
const PACKAGES = {
  outer: { name: 'outer', version: '1.0.0', dependencies: { inner: '^2.0.0' } },
  inner: { name: 'inner', version: '2.1.0' },
  tool: { name: 'tool', version: '3.0.0' },
};
const PROJECT = {
  name: 'project',
  version: '1.0.0',
  dependencies: { outer: '1.0.0' },
  devDependencies: { tool: '3.0.0' },
};
const advisory = (severity) => ({
  id: 1,
  url: 'https://example.com/advisories/1',
  title: 'Reads what it should not',
  severity,
  vulnerable_versions: '<2.2.0',
  cwe: [],
  cvss: { score: 0, vectorString: null },
});

describe('advisories on the packages of the lock file', () => {
  let folder;
  let undo;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'advisories-'));
    undo = [() => rmSync(folder, { recursive: true, force: true })];
    writeFileSync(join(folder, 'package.json'), JSON.stringify(PROJECT));
    const entries = Object.values(PACKAGES).map(({ name, ...rest }) => [
      `node_modules/${name}`,
      { ...rest, resolved: `https://registry.npmjs.org/${name}.tgz`, ...(name === 'tool' ? { dev: true } : {}) },
    ]);
    const lock = { name: 'project', version: '1.0.0', lockfileVersion: 3, requires: true };
    const packages = { '': PROJECT, ...Object.fromEntries(entries) };
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ ...lock, packages }));
    jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    for (const end of undo) await end();
  });

  async function check(advisories, path = '') {
    const registry = await startAdvisoryRegistry(advisories, PACKAGES);
    undo.push(registry.stop);
    const outcome = await checkAdvisories(environment(registry.url + path), folder);
    return { ...outcome, asked: registry.asked };
  }
  const environment = (url) => ({
    ...cleanEnvironment(),
    npm_config_registry: url,
    npm_config_cache: join(folder, 'cache'),
    npm_config_noproxy: '127.0.0.1',
  });

  it('fails for one of severity high, in a package that another needs', async () => {
    const { passed, failed, output } = await check({ inner: [advisory('high')] });
    expect({ passed, failed }).toEqual({ passed: 0, failed: 1 });
    expect(output).toContain('inner: high: Reads what it should not (https://example.com/advisories/1)');
    expect(output).toContain('outer: high: by inner');
  });

  it('passes without one, with one of less severity, and with one of a tool', async () => {
    const none = await check({});
    expect(none).toMatchObject({ passed: 1, failed: 0, asked: { outer: ['1.0.0'], inner: ['2.1.0'] } });
    const few = await check({ inner: [advisory('moderate')], tool: [advisory('critical')] });
    expect(few).toMatchObject({ passed: 1, failed: 0, detail: 'passed: 2 of lower severity' });
  });

  it('neither fails nor passes where the registry does not tell, and says why', async () => {
    const refused = createServer((_, response) => response.writeHead(405, { Allow: 'GET' }).end());
    await once(refused.listen(0, '127.0.0.1'), 'listening');
    undo.push(() => refused.close());
    const { port } = refused.address();
    const told = await checkAdvisories(environment(`http://127.0.0.1:${port}`), folder);
    expect(told).toMatchObject({ passed: 0, failed: 0, skipped: [expect.stringContaining('405')] });
    const unreachable = await checkAdvisories(environment('http://127.0.0.1:1'), folder);
    expect(unreachable).toMatchObject({ passed: 0, failed: 0, skipped: [expect.stringContaining('ECONNREFUSED')] });
  });
});

it('the licence of each production package is named, and permits what this service does', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const used = Object.entries(packages).filter(
    ([path, { dev, link }]) => path.includes('node_modules/') && !dev && !link,
  );
  expect(used.length).toBeGreaterThan(100);
  const permissive = new Set([
    'MIT',
    'MIT-0',
    'ISC',
    '0BSD',
    'BSD-3-Clause',
    'Apache-2.0',
    'BlueOak-1.0.0',
    'Python-2.0',
  ]);
  // The lock has nothing of the old form of the field.
  const old = (path) => JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8')).licenses?.[0].type;
  const named = used.map(([path, { license }]) => ({ path, license: license ?? old(path) }));
  expect(named.filter(({ license }) => !permissive.has(license))).toEqual([]);
});
