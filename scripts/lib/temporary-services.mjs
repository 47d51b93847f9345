import { randomBytes } from 'node:crypto';
import { lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { readFileIfAny } from './files.mjs';
import { freePort } from './ports.mjs';
import { temporaryHome, temporaryParent } from './postgres-home.mjs';
import { initialisePostgres, postgresUrl, startPostgres, stopLeftoverPostgres, stopPostgres } from './postgres.mjs';
import { identityOf, stopProcess } from './processes.mjs';
import { redisUrl, startRedis, stopRedis } from './redis.mjs';

const PREFIX = 'voice-notes-services-';

/**
 * Starts a PostgreSQL and a Redis of one's own in a temporary folder, on free ports.
 * @returns {Promise<{ folder: string, env: Record<string, string>, stop: () => Promise<void> }>}
 */
export async function startTemporaryServices() {
  const parent = temporaryParent();
  await removeLeftovers(parent);
  const folder = mkdtempSync(join(parent, PREFIX));
  writeFileSync(join(folder, 'owner'), identityOf(process.pid));
  const running = [];
  const stop = async () => {
    await Promise.all(running.map((stopOne) => stopOne()));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const postgres = { ...(await newServer(folder, 'postgres')), home: temporaryHome(folder) };
    await initialisePostgres(postgres);
    const postgresChild = await startPostgres(postgres);
    running.push(() => stopPostgres(postgresChild));

    const redis = { ...(await newServer(folder, 'redis')), folder: join(folder, 'redis') };
    const redisChild = await startRedis(redis);
    writeFileSync(join(folder, 'redis.owner'), identityOf(redisChild.pid));
    running.push(() => stopRedis(redisChild));
    return { folder, env: { DATABASE_URL: postgresUrl(postgres), REDIS_URL: redisUrl(redis) }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function newServer(folder, name) {
  const password = randomBytes(18).toString('hex');
  return { port: await freePort(), password, logFile: join(folder, `${name}.log`), temporary: true };
}

/** Stops and removes the services of runs that were killed. */
async function removeLeftovers(parent) {
  for (const name of readdirSync(parent).filter((entry) => entry.startsWith(PREFIX))) {
    const folder = join(parent, name);
    // Anybody may write to the temporary folder: what another user claims to be ours is left alone.
    // And a folder that has no owner's name in it yet is being set up at this moment.
    if (!isOwnFolder(folder) || !readFileIfAny(join(folder, 'owner')) || liveOwner(folder, 'owner')) continue;
    await stopLeftoverPostgres(join(folder, 'postgres'));
    const redis = liveOwner(folder, 'redis.owner');
    if (redis) await stopProcess(redis, 'SIGKILL', 0);
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
