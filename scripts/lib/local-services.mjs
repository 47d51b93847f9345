import { randomBytes } from 'node:crypto';
import { join } from 'node:path';

import { readJsonIfAny, writeSecretFile } from './files.mjs';
import { DATA } from './paths.mjs';
import { freePort } from './ports.mjs';
import { persistentHome, systemHome } from './postgres-home.mjs';
import { initialisePostgres, postgresUrl, startPostgres, stopLeftoverPostgres, stopPostgres } from './postgres.mjs';
import { rotateLog } from './processes.mjs';
import { redisUrl, startRedis, stopLeftoverRedis, stopRedis } from './redis.mjs';
import { stopLeftover, Supervisor } from './supervisor.mjs';

const SERVERS_FILE = join(DATA, 'services.json');
const STOP_TIMEOUT_MS = 20_000;

/**
 * The project's own PostgreSQL, whose data is kept.
 * @param {(supervisor: Supervisor) => void} own called before the server starts, so that it is stopped at the end
 */
export async function startLocalPostgres(own) {
  // Also where it lay before: the folder is moved when it can no longer be reached by the server's user.
  const before = await stopLeftoverPostgres(join(DATA, 'postgres'));
  const home = persistentHome(DATA);
  const leftover = (await stopLeftoverPostgres(join(home.parent, 'postgres'))) || before;
  const server = { ...(await serverSettings('postgres')), home, logFile: logFileOf('postgres') };
  const made = await initialisePostgres(server);
  const supervisor = new Supervisor({
    name: 'postgres',
    logFile: server.logFile,
    start: () => startPostgres(server),
    stop: stopPostgres,
  });
  own(supervisor);
  await supervisor.start();
  supervisor.watch();
  const where = home.parent === DATA ? '.data/postgres' : join(home.parent, 'postgres');
  const how = made ? 'new database' : leftover ? 'found running, started anew' : 'data kept';
  return { url: postgresUrl(server), detail: `port ${server.port}, ${how} in ${where}` };
}

/** The project's own Redis, with an append-only file. */
export async function startLocalRedis(own) {
  const folder = join(DATA, 'redis');
  const recorded = await stopLeftover('redis', 'SIGTERM', STOP_TIMEOUT_MS);
  const leftover = (await stopLeftoverRedis(folder)) || recorded;
  const server = { ...(await serverSettings('redis')), folder, logFile: logFileOf('redis') };
  const supervisor = new Supervisor({
    name: 'redis',
    logFile: server.logFile,
    start: () => startRedis(server),
    stop: stopRedis,
  });
  own(supervisor);
  await supervisor.start();
  supervisor.watch();
  const how = leftover ? 'found running, started anew' : 'append-only file';
  return { url: redisUrl(server), detail: `port ${server.port}, ${how} in .data/redis` };
}

/** Stops the servers of a start that was killed. */
export async function stopLeftoverServers() {
  await stopLeftover('redis', 'SIGTERM', STOP_TIMEOUT_MS);
  await stopLeftoverRedis(join(DATA, 'redis'));
  for (const folder of [DATA, systemHome()]) await stopLeftoverPostgres(join(folder, 'postgres'));
}

/** Password and port stay the same as long as they can, so that a client's settings go on working. */
async function serverSettings(name) {
  const all = readJsonIfAny(SERVERS_FILE) ?? {};
  const kept = all[name] ?? { password: randomBytes(18).toString('hex') };
  const settings = { password: kept.password, port: await freePort(kept.port) };
  writeSecretFile(SERVERS_FILE, `${JSON.stringify({ ...all, [name]: settings }, null, 2)}\n`);
  return settings;
}

function logFileOf(name) {
  const logFile = join(DATA, 'logs', `${name}.log`);
  rotateLog(logFile);
  return logFile;
}
