import { randomUUID } from 'node:crypto';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { freePort } from '../servers/free-port.js';
import type { TestEnvironment } from '../../../src/testing/test-environment.js';
import { ROOT } from '../paths.js';

/** One process of the built service. */
export class ServiceProcess {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  /** Resolves when it is ready. @param roles as in ROLES */
  static async start(
    environment: TestEnvironment,
    roles: string,
    overrides: Record<string, string> = {},
  ): Promise<ServiceProcess> {
    const port = await freePort();
    const env = { PATH: process.env.PATH, ...environment.variables, ...overrides, ROLES: roles, PORT: `${port}` };
    const child = spawn(process.execPath, [join(ROOT, 'dist', 'main.js')], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const instance = new ServiceProcess(`http://127.0.0.1:${port}`, child);
    environment.defer(() => instance.end('SIGKILL'));
    await eventually(() => {
      if (child.exitCode !== null) throw new Error(`${roles} ended with ${child.exitCode} before it was ready`);
      return instance.isReady();
    });
    return instance;
  }

  get pid(): number {
    return this.child.pid as number;
  }

  /** @returns exit code (null when a signal ended it) and how long that took, in milliseconds. */
  async end(signal: NodeJS.Signals): Promise<{ code: number | null; ms: number }> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return { code: this.child.exitCode, ms: 0 };
    const started = Date.now();
    const exit = once(this.child, 'exit') as Promise<[number | null]>;
    this.child.kill(signal);
    const [code] = await exit;
    return { code, ms: Date.now() - started };
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Whether it still takes connections: it does until it begins to stop. */
  async isListening(): Promise<boolean> {
    const { port } = new URL(this.url);
    const socket = connect(Number(port), '127.0.0.1');
    const answer = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    return answer;
  }

  private async isReady(): Promise<boolean> {
    return await fetch(`${this.url}/health/ready`).then(
      (answer) => answer.ok,
      () => false,
    );
  }
}

/** Runs a command of the built command line. @returns the JSON value that it printed. */
async function admin(environment: TestEnvironment, ...args: string[]): Promise<Record<string, never>> {
  const env = { PATH: process.env.PATH, ...environment.variables };
  const cli = [join(ROOT, 'dist', 'commands', 'cli.js'), ...args, '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, cli, { env, timeout: 30_000 });
  return JSON.parse(stdout) as Record<string, never>;
}

/** A new account, made as an operator makes one. @param options such as `--plan pro` */
export async function newAccount(environment: TestEnvironment, url: string, ...options: string[]): Promise<ApiClient> {
  const fields = ['--name', 'Test', '--email', `test-${randomUUID()}@example.com`];
  const made = (await admin(environment, 'account:create', ...fields, ...options)) as unknown as {
    account: { id: string };
    api_key: string;
    api_secret: string;
  };
  return new ApiClient(url, made.account.id, { id: '', key: made.api_key, secret: made.api_secret });
}
