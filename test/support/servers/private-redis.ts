import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { eventually } from '../../../src/testing/eventually.js';
import { freePort } from './free-port.js';

/** A Redis of the test's own, that may be killed: it keeps nothing on disk. */
export class PrivateRedis {
  private child: ChildProcess | null = null;

  private constructor(private readonly port: number) {}

  static async start(): Promise<PrivateRedis> {
    const redis = new PrivateRedis(await freePort());
    await redis.start();
    return redis;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts it again where it was, empty. */
  async start(): Promise<void> {
    const settings = { port: this.port, bind: '127.0.0.1', save: '', appendonly: 'no', daemonize: 'no' };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
    this.child = spawn('redis-server', args, { stdio: 'ignore' });
    await eventually(() => answers(this.url));
  }

  async kill(): Promise<void> {
    const { child } = this;
    this.child = null;
    if (!child) return;
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
