import { randomUUID } from 'node:crypto';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import type { TestEnvironment } from '../../../src/testing/test-environment.js';
import { ROOT } from '../paths.js';
import { freePort } from '../servers/free-port.js';
import { runCli } from './cli.js';

const MAIN = ['dist/main.js'];

/** The built service in a process of its own, whose memory and end are nobody else's. Needs `nest build`. */
export class ServiceProcess {
  private written = '';

  private constructor(
    readonly url: string,
    /** With a channel for messages, which only programs of tests use. */
    readonly child: ChildProcess,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.written += text));
    }
  }

  /**
   * Resolves when it is ready.
   * @param roles as in ROLES
   * @param args of Node: another program than the service, and flags before it
   * @param readiness what has to answer 200
   */
  static async start(
    environment: TestEnvironment,
    roles: string,
    overrides: Record<string, string> = {},
    { args = MAIN, readiness = '/health/ready' } = {},
  ): Promise<ServiceProcess> {
    const port = await freePort();
    const variables = { ...environment.variables, ROLES: roles, PORT: `${port}`, ...overrides };
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { PATH: process.env.PATH, ...variables },
      stdio: args === MAIN ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const instance = new ServiceProcess(`http://127.0.0.1:${port}`, child);
    environment.defer(() => instance.end('SIGKILL'));
    await eventually(async () => {
      if (instance.exit !== null) throw new Error(`${roles} ended with ${instance.exit}: ${instance.log()}`);
      return await fetch(instance.url + readiness).then(
        ({ ok }) => ok,
        () => false,
      );
    });
    return instance;
  }

  get pid(): number {
    return this.child.pid as number;
  }

  /** Its exit code, or the signal that ended it; null while it runs. */
  get exit(): number | string | null {
    return this.child.exitCode ?? this.child.signalCode;
  }

  /** What it has written so far, on both streams. */
  log(): string {
    return this.written;
  }

  /** @returns exit code (null when a signal ended it) and how long that took, in milliseconds. */
  async end(signal: NodeJS.Signals): Promise<{ code: number | null; ms: number }> {
    if (this.exit !== null) return { code: this.child.exitCode, ms: 0 };
    const started = Date.now();
    const closed = once(this.child, 'close');
    const exit = once(this.child, 'exit') as Promise<[number | null]>;
    this.child.kill(signal);
    const [code] = await exit;
    const ms = Date.now() - started;
    // What it wrote last is still on its way.
    await closed;
    return { code, ms };
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
}

/** A new account, made as an operator makes one. @param options such as `--plan pro` */
export async function newAccount(environment: TestEnvironment, url: string, ...options: string[]): Promise<ApiClient> {
  const fields = ['--name', 'Test', '--email', `test-${randomUUID()}@example.com`, '--json'];
  const { stdout } = await runCli(environment, 'account:create', ...fields, ...options);
  const { account, key_id: id = '', api_key: key, api_secret: secret } = JSON.parse(stdout);
  return new ApiClient(url, account.id, { id, key, secret });
}
