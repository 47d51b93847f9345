import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify, stripVTControlCharacters } from 'node:util';
import type { Command } from 'commander';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { type CommandResult, runHere } from '../service/cli.js';
import { ROOT } from '../paths.js';

const TSDOWN = join(ROOT, 'node_modules', 'tsdown', 'dist', 'run.mjs');

/** Types of a browser, which those of the tests are not, are checked with the client library. */
const PROGRAM: string = '../../../sdk/src/cli/program.js';

/** They work with files of the folder that they are started in. */
const OF_FILES = new Set(['get', 'record', 'upload']);

/** Ends a program that waits for keys that nobody types, before the test ends without its output. */
const TERMINAL_LIMIT_MS = 150_000;

/** The built command line, with hooks of Jest that build it into a folder of its own. */
export class BuiltVnotes {
  folder = '';
  /** Commands that have run as a process. */
  private readonly started = new Set<string>();

  static use(): BuiltVnotes {
    const built = new BuiltVnotes();
    beforeAll(async () => {
      built.folder = await mkdtemp(join(tmpdir(), 'vnotes-'));
      const output = join(built.folder, 'dist');
      const options = { cwd: join(ROOT, 'sdk') };
      await promisify(execFile)(process.execPath, [TSDOWN, '--no-dts', '--out-dir', output], options);
    });
    afterAll(() => rm(built.folder, { recursive: true, force: true }));
    return built;
  }

  get program(): string {
    return join(this.folder, 'dist', 'cli.js');
  }

  /**
   * Whether a process must run it: each command once, where its modules load each other in Node. Afterwards the process
   * of the test can, which has loaded them and takes a twentieth of the CPU time.
   */
  needsProcess(args: string[]): boolean {
    const name = (args.includes('--help') ? '--help' : args[0]) ?? '';
    if (OF_FILES.has(name) || args.includes('listen') || !this.started.has(name)) {
      this.started.add(name);
      return true;
    }
    return false;
  }

  /** A person of this account, with folders for settings and state of their own. */
  async user(client: ApiClient | null = null): Promise<VnotesUser> {
    const home = await mkdtemp(join(this.folder, 'home-'));
    return new VnotesUser(this, home, client ? environmentOf(client) : {});
  }
}

/** Whoever calls `vnotes`, with an account in the environment. */
export class VnotesUser {
  constructor(
    private readonly vnotes: BuiltVnotes,
    readonly home: string,
    readonly variables: Record<string, string>,
  ) {}

  get environment(): Record<string, string> {
    const { PATH = '' } = process.env;
    // Node says when it is run with variables that make it print something.
    return { PATH, HOME: this.home, TZ: 'UTC', ...this.variables };
  }

  /** The same person with further variables. */
  with(variables: Record<string, string>): VnotesUser {
    return new VnotesUser(this.vnotes, this.home, { ...this.variables, ...variables });
  }

  start(...args: string[]): ChildProcess {
    return spawn(process.execPath, [this.vnotes.program, ...args], { env: this.environment, cwd: this.home });
  }

  async run(...args: string[]): Promise<CommandResult> {
    return await this.runWith('', ...args);
  }

  /** @param input on standard input */
  async runWith(input: string | Buffer, ...args: string[]): Promise<CommandResult> {
    if (!this.vnotes.needsProcess(args)) {
      const { createProgram } = (await import(PROGRAM)) as { createProgram: () => Pick<Command, 'parseAsync'> };
      // Node asks the system for the home folder, not `process.env`.
      const folders = { XDG_CONFIG_HOME: join(this.home, '.config'), XDG_STATE_HOME: join(this.home, '.local/state') };
      return await runHere(() => createProgram().parseAsync(), { ...folders, ...this.environment }, args, input);
    }
    const child = this.start(...args);
    child.stdin?.on('error', () => {}).end(input);
    return await resultOf(child);
  }

  /** @returns the document that `--json` printed. @throws Error unless it succeeded */
  async json<T = Record<string, never>>(...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await this.run(...args, '--json');
    if (code !== 0) throw new Error(`vnotes ${args.join(' ')} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  /** On a terminal of its own (script(1)), with keys typed as soon as their prompt stands there. */
  async onTerminal(command: string, answers: [prompt: RegExp, keys: string][] = []): Promise<CommandResult> {
    const env = {
      ...this.environment,
      SHELL: '/bin/bash',
      TERM: 'xterm',
      VNOTES: this.vnotes.program,
      NODE: process.execPath,
    };
    const shell = `stty cols 100 rows 30; vnotes() { "$NODE" "$VNOTES" "$@"; }; ${command}`;
    const child = spawn('script', ['-qec', shell, '/dev/null'], { env, cwd: this.home });
    const left = [...answers];
    let shown = '';
    child.stdout.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
      const [next] = left;
      if (!next?.[0].test(stripVTControlCharacters(shown))) return;
      left.shift();
      shown = '';
      child.stdin.write(next[1]);
    });
    const limit = setTimeout(() => child.kill(), TERMINAL_LIMIT_MS);
    return await resultOf(child).finally(() => clearTimeout(limit));
  }
}

export async function resultOf(child: ChildProcess): Promise<CommandResult> {
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    child.stderr ? text(child.stderr) : '',
    ended,
  ]);
  return { code, stdout, stderr };
}

function environmentOf({ url, credentials }: ApiClient): Record<string, string> {
  return { VNOTES_URL: url, VNOTES_KEY: credentials.key, VNOTES_SECRET: credentials.secret };
}
