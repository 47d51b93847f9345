import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { FIXTURES, ROOT } from '../support/paths.js';

const LIMIT_MS = 100_000;

it('a test file whose setup fails is reported, and ends although it left a server open', async () => {
  const jest = join(ROOT, 'node_modules', '.bin', 'jest');
  const file = join(FIXTURES, 'failing-setup.ts');
  const args = [jest, '--selectProjects', 'e2e', '--testMatch', file, '--runTestsByPath', file];
  const child = spawn(process.execPath, args, { cwd: ROOT, timeout: LIMIT_MS, stdio: ['ignore', 'ignore', 'pipe'] });
  const [output, [code]] = await Promise.all([text(child.stderr), once(child, 'close') as Promise<[number | null]>]);
  expect(output).toContain('this step of the setup fails');
  expect(output).toContain('jest was ended');
  expect(code).toBe(1);
});
