import { rmSync } from 'node:fs';
import { join, relative } from 'node:path';

import { readJsonIfAny, writeSecretFile } from './files.mjs';
import { DATA, ROOT } from './paths.mjs';
import { identityOf, sizeOf, stopProcess } from './processes.mjs';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
/** After this long a process counts as well again, and its next end is answered with the shortest pause. */
const STABLE_AFTER_MS = 60_000;

/**
 * Keeps one process running: when it ends unasked it is started again, after a pause that doubles.
 * Who it is stands in a file, so that the next start finds it if this one is killed.
 */
export class Supervisor {
  /** The process that runs now. */
  child;
  /** @type {Promise<import('node:child_process').ChildProcess> | undefined} */
  #starting;
  #stopping = false;
  #timer;
  #pause = FIRST_PAUSE_MS;
  #startedAt = 0;
  /** The size of the log when the process was started. */
  logStart = 0;

  /**
   * @param {{ name: string, logFile: string, start: () => Promise<import('node:child_process').ChildProcess>,
   *   stop: (child: import('node:child_process').ChildProcess) => Promise<void> }} options
   */
  constructor(options) {
    this.name = options.name;
    this.logFile = options.logFile;
    this.options = options;
  }

  /** Starts the process; its first end before `watch` is the caller's to notice. */
  async start() {
    if (this.#stopping) throw new Error(`${this.name} is being stopped.`);
    this.#startedAt = Date.now();
    this.logStart = sizeOf(this.logFile);
    this.#starting = this.options.start();
    this.child = await this.#starting;
    writeSecretFile(recordOf(this.name), JSON.stringify({ identity: identityOf(this.child.pid) }));
  }

  /** From now on the process is started again when it ends. */
  watch() {
    const { child } = this;
    const onExit = (code, signal) => this.#restart(signal ? `on ${signal}` : `with code ${code}`);
    if (child.exitCode !== null || child.signalCode !== null) onExit(child.exitCode, child.signalCode);
    else child.once('exit', onExit);
  }

  async stop() {
    this.#stopping = true;
    clearTimeout(this.#timer);
    await this.#starting?.catch(() => {});
    if (this.child) await this.options.stop(this.child);
    rmSync(recordOf(this.name), { force: true });
  }

  hasEnded() {
    return this.child !== undefined && (this.child.exitCode !== null || this.child.signalCode !== null);
  }

  #restart(how) {
    if (this.#stopping) return;
    if (Date.now() - this.#startedAt > STABLE_AFTER_MS) this.#pause = FIRST_PAUSE_MS;
    const log = relative(ROOT, this.logFile);
    console.log(
      `  ${new Date().toISOString()} ${this.name} ended ${how}; started again in ${this.#pause / 1000} s (${log})`,
    );
    this.#timer = setTimeout(() => {
      this.start().then(
        () => this.watch(),
        (error) => !this.#stopping && this.#restart(`before it was ready: ${error.message}`),
      );
    }, this.#pause);
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
  }
}

/** Stops what an earlier start that was killed has left running. */
export async function stopLeftover(name, signal, timeoutMs) {
  const identity = readJsonIfAny(recordOf(name))?.identity;
  const pid = Number(identity?.split(' ')[0]);
  const found = Boolean(pid) && identityOf(pid) === identity;
  if (found) await stopProcess(pid, signal, timeoutMs);
  rmSync(recordOf(name), { force: true });
  return found;
}

function recordOf(name) {
  return join(DATA, 'run', `${name}.json`);
}
