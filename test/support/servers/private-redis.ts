import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually } from '../../../src/testing/eventually.js';
import { freePort } from './free-port.js';

/** A Redis of the test's own, that may be killed: it keeps nothing on disk. */
export class PrivateRedis {
  private child: ChildProcess | null = null;

  private constructor(
    private readonly port: number,
    private readonly settings: Record<string, string> = {},
  ) {}

  static async start(settings: Record<string, string> = {}): Promise<PrivateRedis> {
    const redis = new PrivateRedis(await freePort(), settings);
    await redis.start();
    return redis;
  }

  /** A copy of `primary`, which refuses writes. */
  static async replicaOf(primary: PrivateRedis): Promise<PrivateRedis> {
    return await PrivateRedis.start({ replicaof: `127.0.0.1 ${primary.port}`, 'repl-diskless-sync-delay': '0' });
  }

  /** A sentinel of the name `mymaster`, which alone decides to promote a replica of `primary` after a second. */
  static async sentinelOf(primary: PrivateRedis): Promise<PrivateRedis> {
    const folder = await mkdtemp(join(tmpdir(), 'sentinel-'));
    const file = join(folder, 'sentinel.conf');
    const port = await freePort();
    await writeFile(
      file,
      [
        `port ${port}`,
        'bind 127.0.0.1',
        `sentinel monitor mymaster 127.0.0.1 ${primary.port} 1`,
        'sentinel down-after-milliseconds mymaster 1000',
        'sentinel failover-timeout mymaster 3000',
      ].join('\n'),
    );
    const sentinel = new PrivateRedis(port);
    sentinel.run([file, '--sentinel']);
    await eventually(() => answers(sentinel.url));
    return sentinel;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts it again where it was, empty. */
  async start(): Promise<void> {
    const fixed = { port: String(this.port), bind: '127.0.0.1', save: '', appendonly: 'no', daemonize: 'no' };
    const settings = Object.entries({ ...fixed, ...this.settings });
    // An empty value is one argument, an address two.
    this.run(settings.flatMap(([name, value]) => [`--${name}`, ...value.split(' ')]));
    await eventually(() => answers(this.url));
  }

  /** For tests of what happens to a server that is frozen. */
  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  private run(args: string[]): void {
    // A replica writes what it receives to a file in its folder.
    this.child = spawn('redis-server', args, { stdio: 'ignore', cwd: tmpdir() });
  }

  async kill(): Promise<void> {
    const { child } = this;
    this.child = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.ping()) === 'PONG';
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}
