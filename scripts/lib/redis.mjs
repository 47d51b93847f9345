import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';

import {
  commandLineOf,
  findCommand,
  processesIn,
  sizeOf,
  spawnServer,
  stopProcess,
  tailOf,
  waitUntil,
} from './processes.mjs';
import { UserError } from './steps.mjs';

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;

/** Valkey is the same server under another name, and the only one that some distributions have. */
const COMMANDS = ['redis-server', 'valkey-server'];

/** @returns {string | null} the path of an installed Redis server */
export function findRedisServer() {
  return COMMANDS.map(findCommand).find(Boolean) ?? null;
}

/**
 * Starts a private Redis on the loopback address and waits until it has read its append-only file.
 * @param {{ folder: string, port: number, password: string, logFile: string, temporary?: boolean }} options
 */
export async function startRedis({ folder, port, password, logFile, temporary = false }) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const settings = {
    bind: '127.0.0.1',
    port,
    requirepass: password,
    dir: JSON.stringify(folder),
    'maxmemory-policy': 'noeviction',
    appendonly: temporary ? 'no' : 'yes',
    appendfsync: 'everysec',
    save: '""',
    daemonize: 'no',
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} ${value}\n`);
  // The settings go in by standard input: on the command line everybody on the machine could read the password.
  const logStart = sizeOf(logFile);
  const child = spawnServer(findRedisServer(), ['-'], { cwd: folder, logFile, input: lines.join('') });
  let failed = false;
  child.once('error', () => (failed = true));
  child.once('exit', () => (failed = true));
  await waitUntil(async () => failed || (await ping(port, password)), START_TIMEOUT_MS);
  if (!failed && (await ping(port, password))) return child;
  await stopRedis(child);
  throw new UserError(`Redis did not start:\n${tailOf(logFile, logStart)}`);
}

/** Writes what is left of the append-only file and exits. */
export async function stopRedis(child) {
  await stopProcess(child.pid, 'SIGTERM', STOP_TIMEOUT_MS);
}

/** Stops servers in that folder that no file tells of: two of them on one append-only file would ruin it. */
export async function stopLeftoverRedis(folder) {
  const servers = processesIn(folder).filter((pid) => COMMANDS.some((name) => commandLineOf(pid).includes(name)));
  await Promise.all(servers.map((pid) => stopProcess(pid, 'SIGTERM', STOP_TIMEOUT_MS)));
  return servers.length > 0;
}

export function redisUrl({ port, password }) {
  return `redis://default:${password}@127.0.0.1:${port}`;
}

/** While Redis still reads its file it answers LOADING. */
function ping(port, password) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: 1000 });
    let answer = '';
    const end = (value) => {
      socket.destroy();
      resolve(value);
    };
    socket.setEncoding('utf8');
    socket.once('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    socket.on('data', (text) => {
      answer += text;
      if (answer.includes('+PONG')) end(true);
      else if (answer.includes('-')) end(false);
    });
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });
}
