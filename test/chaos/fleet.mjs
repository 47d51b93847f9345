import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../scripts/lib/ports.mjs';
import { childrenOf, commandLineOf, sizeOf, spawnServer, tailOf } from '../../scripts/lib/processes.mjs';

const RESTART_MS = 300;
const LONGEST_RESTART_MS = 2000;
const STABLE_MS = 5000;

/** One process of the built service, started again whenever it ends, as a supervisor would. */
export class Member {
  #child;
  #isStopping = false;
  #pause = RESTART_MS;
  starts = 0;
  /** Ends that nobody asked for: exit codes. */
  crashes = [];
  #expected = new Set();

  constructor(name, env, logFile, root, within) {
    this.name = name;
    this.within = within;
    this.env = env;
    this.logFile = logFile;
    this.root = root;
  }

  /**
   * @param {{ env: Record<string, string>, folder: string, root: string, address?: string, within?: string[] }} options
   *   root: where the build is; address: where it is reached; within: a command that runs the process elsewhere
   */
  static async create(name, roles, { env, folder, root, address = '127.0.0.1', within = [] }) {
    const port = await freePort();
    const variables = { ...env, ROLES: roles, PORT: `${port}` };
    const member = new Member(name, variables, join(folder, `${name}.log`), root, within);
    member.url = `http://${address}:${port}`;
    member.#run();
    return member;
  }

  get pid() {
    return this.#child.pid;
  }

  /** @param {'SIGKILL' | 'SIGSTOP' | 'SIGCONT'} signal */
  signal(signal) {
    if (signal === 'SIGKILL') this.#expected.add(this.#child);
    this.#child.kill(signal);
  }

  /** @returns {Promise<number | null>} its exit code; null when it had to be killed */
  async stop(timeoutMs) {
    this.#isStopping = true;
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const inTime = await Promise.race([exit.then(() => true), sleep(timeoutMs, false)]);
    if (!inTime) child.kill('SIGKILL');
    await exit;
    return inTime ? child.exitCode : null;
  }

  async isReady() {
    return await fetch(`${this.url}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  /** Recordings that it transcribes at this moment. */
  async recordings() {
    const metrics = await fetch(`${this.url}/metrics`).then((response) => response.text());
    return Number(/^transcription_recordings(?:\{.*\})? (\d+)$/m.exec(metrics)?.[1] ?? 0);
  }

  /** Resident memory in bytes, with that of its children. */
  memory() {
    const own = residentOf(this.pid);
    return childrenOf(this.pid).reduce((sum, child) => sum + residentOf(child), own);
  }

  #run() {
    const options = { cwd: this.root, env: this.env, logFile: this.logFile };
    const logStart = sizeOf(this.logFile);
    const [command, ...args] = [...this.within, process.execPath, 'dist/main.js'];
    const child = spawnServer(command, args, options);
    const startedAt = Date.now();
    this.#child = child;
    this.starts += 1;
    child.once('exit', (code) => {
      if (this.#isStopping) return;
      // A process that cannot start because Postgres is unavailable exits, and is started again.
      const couldStart = !tailOf(this.logFile, logStart).includes('Cannot reach PostgreSQL');
      if (!this.#expected.has(child) && couldStart) this.crashes.push(code);
      this.#pause = Date.now() - startedAt > STABLE_MS ? RESTART_MS : Math.min(this.#pause * 2, LONGEST_RESTART_MS);
      setTimeout(() => this.#isStopping || this.#run(), this.#pause);
    });
  }
}

/** @param {Member[]} members @returns {Promise<boolean>} */
export async function areReady(members) {
  return (await Promise.all(members.map((member) => member.isReady()))).every(Boolean);
}

/**
 * Processes that are left of a fleet, wherever they hang: engines and decoders, whose command lines name the build or
 * the storage folder.
 */
export function leftovers(storage, root) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.filter((pid) => {
    const command = commandLineOf(Number(pid));
    return command.includes(storage) || (command.includes(join(root, 'dist/')) && isAdopted(pid));
  });
}

/** Whether nobody is left who started it. */
function isAdopted(pid) {
  return /^PPid:\s+1$/m.test(readIfAny(`/proc/${pid}/status`));
}

function residentOf(pid) {
  const status = readIfAny(`/proc/${pid}/status`);
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

function readIfAny(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
