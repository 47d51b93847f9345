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

type Variables = Pick<TestEnvironment, 'variables'>;

/** Runs the built command line (D30) as a process of its own, on the environment's database. Needs `nest build`. */
export function runCli(environment: Variables, ...args: string[]): Promise<CommandResult> {
  return runBuilt(environment, 'dist/commands/cli.js', ...args);
}

/** Runs a built file as a process of its own until it ends. */
export async function runBuilt({ variables }: Variables, file: string, ...args: string[]): Promise<CommandResult> {
  const env = { PATH: process.env.PATH, ...variables };
  const child = spawn(process.execPath, [file, ...args], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}
