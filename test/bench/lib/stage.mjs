import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { migrate, runCli } from '../../../scripts/lib/application.mjs';
import { cleanEnvironment } from '../../../scripts/lib/environment.mjs';
import { ROOT } from '../../../scripts/lib/paths.mjs';
import { freePort } from '../../../scripts/lib/ports.mjs';
import { waitUntil } from '../../../scripts/lib/processes.mjs';
import { startTemporaryServices } from '../../../scripts/lib/temporary-services.mjs';

const READY_MS = 30_000;

/** Real servers with what they promise in earnest switched on, and the processes that are measured. */
export class Stage {
  #processes = [];
  #pool;

  static async open() {
    const services = await startTemporaryServices({ durable: true });
    const stage = new Stage(services);
    await migrate(stage.env);
    return stage;
  }

  constructor(services) {
    this.services = services;
    this.#pool = new pg.Pool({ connectionString: services.env.DATABASE_URL, max: 2 });
    // Postgres is stopped before the last of them has said good-bye.
    this.#pool.on('error', () => undefined);
    this.storage = join(services.folder, 'storage');
    this.env = {
      ...cleanEnvironment(),
      ...services.env,
      NODE_ENV: 'production',
      HOST: '127.0.0.1',
      SECRET_KEY: randomBytes(32).toString('hex'),
      STORAGE_DIR: this.storage,
      ADDRESS_RATE_LIMIT: '1000000/1000000',
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
      TRANSCRIPTION_ENGINE: 'pocketsphinx',
    };
  }

  /** The built service. @returns {Promise<Running>} */
  async service(roles, overrides = {}) {
    return await this.#run(['dist/main.js'], { ROLES: roles, ...overrides }, '/health/ready');
  }

  /** @param {string} name of a file in `test/bench/baselines` */
  async baseline(name, overrides = {}) {
    return await this.#run([`test/bench/baselines/${name}`], overrides, '/ready');
  }

  /** @returns {Promise<{ id: string, headers: Record<string, string> }>} an account that no limit slows down */
  async account() {
    const limits = ['--plan', 'enterprise', '--rate-limit', '1000000', '--burst-limit', '1000000'];
    const names = ['--name', 'Bench', '--email', 'b@example.com', '--allow-duplicate-email'];
    const made = await runCli(['account:create', ...names, ...limits], this.env);
    // Far from its limits, which uploads of an account wait for one another near.
    const quotas = ['--concurrent-uploads', '64', '--queued-audio-seconds', '3600000'];
    await runCli(['account:update', '--account', made.account.id, ...quotas], this.env);
    return {
      id: made.account.id,
      headers: { 'X-Service-API-Key': made.api_key, 'X-Service-API-Secret': made.api_secret },
    };
  }

  async sql(text, parameters) {
    return (await this.#pool.query(text, parameters)).rows;
  }

  async close() {
    await Promise.all(this.#processes.map((running) => running.stop()));
    await this.#pool.end();
    await this.services.stop();
  }

  async #run(script, overrides, readyPath) {
    const port = overrides.PORT ?? (await freePort());
    const env = { ...this.env, ...overrides, PORT: `${port}` };
    const startedAt = performance.now();
    const child = spawn(process.execPath, script, { cwd: ROOT, env, stdio: ['ignore', 'ignore', 'inherit'] });
    const running = new Running(child, `http://127.0.0.1:${port}`);
    this.#processes.push(running);
    await waitUntil(() => child.exitCode !== null || isReady(running.url + readyPath), READY_MS, 10);
    if (child.exitCode !== null) throw new Error(`${script} ended with ${child.exitCode}`);
    running.startMs = performance.now() - startedAt;
    return running;
  }
}

class Running {
  startMs = 0;

  constructor(child, url) {
    this.child = child;
    this.url = url;
  }

  get pid() {
    return this.child.pid;
  }

  /** Resident memory in bytes. */
  memory() {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.pid}/status`, 'utf8'))?.[1]) * 1024;
  }

  async stop() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exit;
  }
}

async function isReady(url) {
  return await fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
