import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { eventually } from '../../../src/testing/eventually.js';
import { freePort } from './free-port.js';

/** It refuses to run as root. */
const NOBODY = 65_534;

/** A PgBouncer in transaction mode in front of one Postgres. */
export class PgBouncer {
  private constructor(
    /** Of the same database, by way of this pooler. */
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  static isInstalled(): boolean {
    return spawnSync('pgbouncer', ['--version'], { env: withSbin() }).status === 0;
  }

  static async to(databaseUrl: string, poolSize: number): Promise<PgBouncer> {
    const target = new URL(databaseUrl);
    const port = await freePort();
    const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-'));
    const file = join(folder, 'pgbouncer.ini');
    const [user, password] = [target.username, target.password].map(decodeURIComponent);
    await writeFile(
      file,
      `[databases]
* = host=${target.hostname} port=${target.port || 5432} user=${user} password='${password}'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 300
`,
    );
    for (const path of [folder, file]) await chmod(path, 0o755);
    const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
    const child = spawn('pgbouncer', [file], { stdio: 'ignore', env: withSbin(), ...identity });
    const url = new URL(databaseUrl);
    url.hostname = '127.0.0.1';
    url.port = String(port);
    await eventually(() => answers(url.href));
    return new PgBouncer(url.href, child, folder);
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
    await rm(this.folder, { recursive: true, force: true });
  }
}

const withSbin = (): NodeJS.ProcessEnv => ({ ...process.env, PATH: `${process.env.PATH}:/usr/sbin` });

async function answers(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString });
  try {
    await client.connect();
    return (await client.query('SELECT 1')).rowCount === 1;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}
