import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { TestEnvironment } from '../../../src/testing/test-environment.js';
import { ROOT } from '../paths.js';

/** What a command said, and how it ended. */
export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the built command line (D30) as a process of its own, on the environment's database. Needs `nest build`. */
export async function runCli(
  { variables }: Pick<TestEnvironment, 'variables'>,
  ...args: string[]
): Promise<CommandResult> {
  const env = { PATH: process.env.PATH, ...variables };
  const child = spawn(process.execPath, ['dist/commands/cli.js', ...args], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}
