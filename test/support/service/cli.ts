import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import koffi from 'koffi';
import { extensions } from '../../../src/extensions.js';
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

/** From linux/prctl.h. */
const PR_SET_DUMPABLE = 4;

/** What `process.exit` throws: nothing of the command runs after it. */
class CommandExit extends Error {}

/** Commands read and write properties of `process`: one command at a time. */
let latest: Promise<unknown> = Promise.resolve();

/**
 * Runs commands of the command line (D30): each for the first time as a process of the build, where its modules load
 * each other in Node, and afterwards in the process of the test, which has loaded most of them already. A process takes
 * a second of CPU time.
 */
export function commandRunner(): typeof runCli {
  const started = new Set<string | undefined>();
  return (environment, ...args) => {
    const [name] = args;
    if (started.has(name)) return runCliHere(environment, ...args);
    started.add(name);
    return runCli(environment, ...args);
  };
}

/** As `runCli`, in the process of the test. */
async function runCliHere({ variables }: Variables, ...args: string[]): Promise<CommandResult> {
  const { runAdmin } = await import('../../../src/commands/admin/admin-program.js');
  return await runHere(() => runAdmin(extensions), variables, args);
}

/** Runs a program that reads its arguments from `process`, in the process of the test. */
export function runHere(
  program: () => Promise<unknown>,
  variables: Record<string, string>,
  args: string[],
  input: string | Buffer = '',
): Promise<CommandResult> {
  const result = latest.then(() => run(program, variables, args, input));
  latest = result.catch(() => undefined);
  return result;
}

async function run(
  program: () => Promise<unknown>,
  variables: Record<string, string>,
  args: string[],
  input: string | Buffer,
): Promise<CommandResult> {
  const said = { stdout: '', stderr: '' };
  let code: number | null = null;
  const streamTo = (name: keyof typeof said) => ({
    write: (piece: string) => {
      if (code === null) said[name] += piece;
      return true;
    },
  });
  const exit = (given = 0): never => {
    code ??= given;
    throw new CommandExit();
  };
  const seen = {
    argv: [process.argv0, 'cli.js', ...args],
    env: { PATH: process.env.PATH, ...variables },
    stdin: Readable.from([Buffer.from(input)]),
    stdout: streamTo('stdout'),
    stderr: streamTo('stderr'),
    exit,
  };
  const restore = replaceProperties(process, seen);
  // Not a property that can be replaced.
  const exitCode = process.exitCode;
  process.exitCode = undefined;
  try {
    await program();
    code ??= process.exitCode === undefined ? 0 : Number(process.exitCode);
  } catch (error) {
    if (!(error instanceof CommandExit)) throw error;
  } finally {
    process.exitCode = exitCode;
    restore();
    allowInspection();
  }
  return { code, ...said };
}

/** Undoes what a command does at boot: the process belongs to jest, which others may look into. */
function allowInspection(): void {
  if (process.platform !== 'linux') return;
  koffi.load(null).func('int prctl(int option, unsigned long value)')(PR_SET_DUMPABLE, 1);
}

/** @returns a function that puts everything back. Some properties of `process` are accessors. */
function replaceProperties(target: object, values: Record<string, unknown>): () => void {
  const given = Object.keys(values).map((name) => [name, Object.getOwnPropertyDescriptor(target, name)] as const);
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: true });
  }
  return () => {
    for (const [name, descriptor] of given) {
      if (descriptor) Object.defineProperty(target, name, descriptor);
      else Reflect.deleteProperty(target, name);
    }
  };
}
