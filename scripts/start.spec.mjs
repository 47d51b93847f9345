import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ROOT } from './lib/paths.mjs';
import { identityOf } from './lib/processes.mjs';

describe('npm start beside one that runs', () => {
  let folder;

  beforeAll(() => {
    // A copy: the scripts need no packages, and a developer's own start must not notice the test.
    folder = mkdtempSync(join(tmpdir(), 'voice-notes-start-'));
    cpSync(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true });
    mkdirSync(join(folder, '.data', 'run'), { recursive: true });
    writeFileSync(join(folder, '.data', 'start.lock'), identityOf(process.pid));
    writeFileSync(join(folder, '.data', 'run', 'environment.json'), '{"PORT":"3000"}');
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(['start.mjs', 'dev.mjs'])('%s refuses, names the process and leaves its files alone', (script) => {
    const env = { PATH: process.env.PATH };
    const { status, stderr } = spawnSync(process.execPath, [join(folder, 'scripts', script)], {
      encoding: 'utf8',
      env,
    });

    expect(status).toBe(1);
    expect(stderr).toContain(`started by process ${process.pid}`);
    expect(readFileSync(join(folder, '.data', 'run', 'environment.json'), 'utf8')).toBe('{"PORT":"3000"}');
    expect(existsSync(join(folder, '.data', 'start.lock'))).toBe(true);
  });
});
