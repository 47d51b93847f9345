import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { readFileIfAny } from './files.mjs';
import { freePort } from './ports.mjs';
import { temporaryHome, temporaryParent } from './postgres-home.mjs';
import { initialisePostgres, postgresUrl, startPostgres, stopLeftoverPostgres, stopPostgres } from './postgres.mjs';
import { identityOf, stopProcess } from './processes.mjs';
import { redisUrl, startRedis, stopRedis } from './redis.mjs';

const PREFIX = 'voice-notes-services-';
/** Inside the folder: TMPDIR for those who use the services, so that nothing of theirs outlives the folder. */
const TEMPORARY = 'tmp';

/**
 * Starts a private PostgreSQL and Redis in a temporary folder, on free ports.
 * @param {{ durable?: boolean }} options durable: confirmed writes survive a crash, as in production
 * @returns {Promise<{ folder: string, env: Record<string, string>, postgres: Server, redis: Server,
 *   stop: () => Promise<void> }>}
 */
export async function startTemporaryServices({ durable = false } = {}) {
  const parent = temporaryParent();
  await removeLeftovers(parent);
  const folder = mkdtempSync(join(parent, PREFIX));
  writeFileSync(join(folder, 'owner'), identityOf(process.pid));
  const temporary = join(folder, TEMPORARY);
  // Open to the server's user, who must reach services of services.
  mkdirSync(temporary, { mode: 0o711 });
  const running = [];
  const stop = async () => {
    await Promise.all(running.map((server) => server.stop()));
    await removeLeftovers(temporary);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const postgres = { ...(await newServer(folder, 'postgres', durable)), home: temporaryHome(folder) };
    await initialisePostgres(postgres);
    const postgresServer = new Server(() => startPostgres(postgres), stopPostgres);
    await postgresServer.start();
    running.push(postgresServer);

    const redis = { ...(await newServer(folder, 'redis', durable)), folder: join(folder, 'redis') };
    const redisServer = new Server(async () => {
      const child = await startRedis(redis);
      writeFileSync(join(folder, 'redis.owner'), identityOf(child.pid));
      return child;
    }, stopRedis);
    await redisServer.start();
    running.push(redisServer);
    const [database, cache] = [postgresUrl(postgres), redisUrl(redis)];
    // The tests have variables of their own: they must never clear a database that somebody works with.
    const own = { TEST_DATABASE_URL: database, TEST_REDIS_URL: cache };
    const env = { DATABASE_URL: database, REDIS_URL: cache, ...own, TMPDIR: temporary };
    return { folder, env, postgres: postgresServer, redis: redisServer, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A server that can be made to crash, and started again with what it has kept. */
class Server {
  #child;
  #start;
  #stop;

  constructor(start, stop) {
    this.#start = start;
    this.#stop = stop;
  }

  async start() {
    this.#child = await this.#start();
  }

  async stop() {
    await this.#stop(this.#child);
  }

  get pid() {
    return this.#child.pid;
  }

  /** Sends a signal; resolves when the process has ended, unless the signal only stops it or lets it go on. */
  async signal(signal) {
    const exit = once(this.#child, 'exit');
    this.#child.kill(signal);
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await exit;
  }
}

async function newServer(folder, name, durable) {
  const password = randomBytes(18).toString('hex');
  return { port: await freePort(), password, logFile: join(folder, `${name}.log`), temporary: !durable };
}

/** Stops and removes the services of runs that were killed. */
async function removeLeftovers(parent) {
  if (!existsSync(parent)) return;
  for (const name of readdirSync(parent).filter((entry) => entry.startsWith(PREFIX))) {
    const folder = join(parent, name);
    // Anybody may write to the temporary folder: what another user claims to be ours is left alone.
    // And a folder that has no owner's name in it yet is being set up at this moment.
    if (!isOwnFolder(folder) || !readFileIfAny(join(folder, 'owner')) || liveOwner(folder, 'owner')) continue;
    await stopLeftoverPostgres(join(folder, 'postgres'));
    const redis = liveOwner(folder, 'redis.owner');
    if (redis) await stopProcess(redis, 'SIGKILL', 0);
    await removeLeftovers(join(folder, TEMPORARY));
    rmSync(folder, { recursive: true, force: true });
  }
}

function isOwnFolder(folder) {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.uid === process.getuid();
}

/** @returns {number | null} the pid of the live process that is named in the file */
function liveOwner(folder, file) {
  const identity = readFileIfAny(join(folder, file));
  const pid = Number(identity?.split(' ')[0]);
  return pid && identityOf(pid) === identity ? pid : null;
}
