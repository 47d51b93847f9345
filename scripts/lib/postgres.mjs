import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  commandLineOf,
  identityOf,
  isNumberTaken,
  processesIn,
  run,
  sizeOf,
  spawnServer,
  stopProcess,
  tailOf,
  waitUntil,
} from './processes.mjs';
import { UserError } from './steps.mjs';

const USER = 'voice_notes';
const DATABASE = 'voice_notes';
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;
const LEFTOVER_TIMEOUT_MS = 10_000;
/** How often a start is tried while processes of a server that was killed still hold its shared memory. */
const START_ATTEMPTS = 10;

/** Linux can flush a whole file system at once: a new database, or one after a crash, is ready seconds earlier. */
const SYNC_METHOD = process.platform === 'linux' ? ['syncfs'] : [];

/** Tests throw the database away: nothing needs to survive a power cut. */
const TEMPORARY_SETTINGS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

/**
 * A private PostgreSQL server that listens on the loopback address only.
 * @typedef {{ home: import('./postgres-home.mjs').PostgresHome, port: number, password: string, logFile: string,
 *   temporary?: boolean }} PostgresOptions
 */

/** Makes the database cluster unless there is one. Complete or not there at all: it is renamed into place. */
export async function initialisePostgres({ home, password, temporary = false }) {
  const data = join(home.parent, 'postgres');
  if (existsSync(join(data, 'PG_VERSION'))) return false;
  const unfinished = `${data}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  giveTo(unfinished, home.runAs);
  await initialise(home, unfinished, password, temporary);
  await createDatabase(home, unfinished);
  renameSync(unfinished, data);
  return true;
}

/**
 * Starts the server and waits until it takes connections.
 * @param {PostgresOptions} options
 */
export async function startPostgres(options) {
  const data = join(options.home.parent, 'postgres');
  await stopLeftoverPostgres(data);
  for (let attempt = 1; ; attempt++) {
    const logStart = sizeOf(options.logFile);
    const child = spawnPostgres(options, data);
    if (await isReady(child, data)) return child;
    await stopPostgres(child);
    const log = tailOf(options.logFile, logStart);
    const stillHeld = log.includes('pre-existing shared memory block');
    if (!stillHeld || attempt === START_ATTEMPTS) throw new UserError(`PostgreSQL did not start:\n${log}`);
    await sleep(500);
  }
}

/** Ends sessions, writes a checkpoint and exits (PostgreSQL's "fast" shutdown). */
export async function stopPostgres(child) {
  await stopProcess(child.pid, 'SIGINT', STOP_TIMEOUT_MS);
}

/** The server outlives a start command that was killed; it is stopped so that there is one way to run it. */
export async function stopLeftoverPostgres(data) {
  const pidFile = join(data, 'postmaster.pid');
  const pid = Number(readLines(pidFile)[0]);
  const found = Boolean(pid) && identityOf(pid) !== null && commandLineOf(pid).includes(data);
  if (found) await stopProcess(pid, 'SIGINT', STOP_TIMEOUT_MS);
  // A dead server's number may belong to somebody else by now, or still to itself while nobody collects dead
  // children, as in some containers. The new server would take either for the old one and refuse to start.
  if (
    existsSync(pidFile) &&
    isNumberTaken(pid) &&
    (await waitUntil(() => processesIn(data).length === 0, LEFTOVER_TIMEOUT_MS))
  ) {
    rmSync(pidFile, { force: true });
  }
  return found;
}

export function postgresUrl({ port, password }, database = DATABASE) {
  return `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`;
}

async function initialise(home, data, password, temporary) {
  const passwordFile = join(home.parent, 'postgres.password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  giveTo(passwordFile, home.runAs);
  try {
    await runTool(home, 'initdb', [
      `--pgdata=${data}`,
      `--username=${USER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // The server's own collation: the same on every system, whatever locales are installed.
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--locale=C',
      ...(temporary ? ['--no-sync'] : SYNC_METHOD.map((method) => `--sync-method=${method}`)),
    ]);
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

/** In single-user mode, so that no client is needed and the cluster is complete before anybody connects. */
function createDatabase(home, data) {
  return runTool(home, 'postgres', ['--single', '-D', data, 'postgres'], `CREATE DATABASE ${DATABASE};\n`);
}

async function runTool(home, tool, args, input) {
  const options = { ...home.runAs, cwd: '/', input, env: serverEnvironment() };
  const { code, output } = await run(join(home.binaries, 'bin', tool), args, options);
  if (code !== 0 || output.includes('ERROR:')) throw new UserError(`${tool} failed:\n${output.trim()}`);
}

function spawnPostgres({ home, port, logFile, temporary }, data) {
  const settings = {
    listen_addresses: '127.0.0.1',
    // A socket file's path may be at most 107 bytes long, which the project's folder need not keep to.
    unix_socket_directories: '',
    max_connections: '200',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...Object.fromEntries(SYNC_METHOD.map((method) => ['recovery_init_sync_method', method])),
    ...(temporary ? TEMPORARY_SETTINGS : {}),
  };
  const args = ['-D', data, '-p', String(port)];
  for (const [name, value] of Object.entries(settings)) args.push('-c', `${name}=${value}`);
  return spawnServer(join(home.binaries, 'bin', 'postgres'), args, {
    ...home.runAs,
    cwd: '/',
    logFile,
    env: serverEnvironment(),
  });
}

/** PG* variables of the user's own would change what the server and its tools do. */
function serverEnvironment() {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PG') && !name.startsWith('LC_'));
  return { ...Object.fromEntries(kept), LC_ALL: 'C', TZ: 'UTC' };
}

/** The server writes its state into the last line of its pid file, as `pg_ctl --wait` reads it. */
async function isReady(child, data) {
  let failed = false;
  child.once('error', () => (failed = true));
  child.once('exit', () => (failed = true));
  const ready = () => {
    const lines = readLines(join(data, 'postmaster.pid'));
    return Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready';
  };
  await waitUntil(() => failed || ready(), START_TIMEOUT_MS);
  return !failed && ready();
}

function giveTo(path, { uid, gid }) {
  if (uid !== undefined) chownSync(path, uid, gid);
}

function readLines(file) {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return [];
  }
}
