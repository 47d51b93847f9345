import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CONSOLE, replaceFolder, SERVICE } from './builds.mjs';
import { ROOT } from './paths.mjs';

describe('a build takes the place of the one before', () => {
  let folder;
  const write = (name, text) => {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'main.js'), text);
  };
  const read = () => readFileSync(join(folder, 'dist', 'main.js'), 'utf8');

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'builds-'));
    write('dist.next', 'new');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it.each([
    ['the first build', []],
    ['a later build', ['dist']],
    ['a build after one that was killed while it replaced', ['dist', 'dist.old']],
  ])('%s', (_, before) => {
    for (const name of before) write(name, 'old');
    replaceFolder(join(folder, 'dist'), join(folder, 'dist.next'));
    expect(read()).toBe('new');
    expect(existsSync(join(folder, 'dist.next')) || existsSync(join(folder, 'dist.old'))).toBe(false);
  });
});

it('all that is built reaches the builder of the image', () => {
  const allowed = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  const missing = [SERVICE, CONSOLE]
    .flatMap(({ inputs }) => inputs)
    .filter((input) => !allowed.some((path) => input === path || input.startsWith(`${path}/`)));
  expect(missing).toEqual([]);
});
