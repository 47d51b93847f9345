import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';

import { stopLeftoverApplication } from './application.mjs';
import { checkProduction, localSettings, readEnvironment, RUNNING_ENVIRONMENT } from './environment.mjs';
import { writeSecretFile } from './files.mjs';
import { startLocalPostgres, startLocalRedis } from './local-services.mjs';
import { acquireLock } from './lock.mjs';
import { DATA, START_LOCK } from './paths.mjs';
import { isFree, nextFreePort } from './ports.mjs';
import { stopTools } from './processes.mjs';
import { checkPlatform } from './setup.mjs';
import { lastStep, printError, step, UserError } from './steps.mjs';
import { Teardown } from './teardown.mjs';

const DEFAULT_PORT = 3000;
/** The order of stopping: the application first, because it uses the servers until its end. */
export const RANK = { application: 1, redis: 2, postgres: 3 };

export const teardown = new Teardown();

/**
 * What `npm start` and `npm run dev` share: one of them at a time, stopped in order by Ctrl-C.
 * @param {(env: NodeJS.ProcessEnv) => Promise<void>} main resolves once the service is ready
 */
export async function runLocally(main) {
  let isReady = false;
  try {
    checkPlatform();
    const env = readEnvironment();
    if (env.NODE_ENV === 'production') checkProduction(env);
    const lock = takeLock();
    prepareFolders();
    stopOnSignals(() => isReady);
    process.on('exit', () => lock.release());
    await main(env);
    isReady = true;
  } catch (error) {
    // Stopping makes the steps in progress fail; only the first failure is reported.
    if (teardown.isRunning) return;
    printError(error);
    process.exitCode = 1;
    await end();
  }
}

/** @returns {Promise<NodeJS.ProcessEnv>} the environment of the service's processes */
export async function startServices(given) {
  await stopLeftoverApplication();
  if (given.NODE_ENV === 'production') return given;
  const made = localSettings(given);
  if (!given.DATABASE_URL && !given.DATABASE_URL_FILE) {
    const own = (supervisor) => teardown.add(RANK.postgres, supervisor);
    made.DATABASE_URL = (await step('PostgreSQL', () => startLocalPostgres(own))).url;
  }
  if (!given.REDIS_URL && !given.REDIS_URL_FILE) {
    const own = (supervisor) => teardown.add(RANK.redis, supervisor);
    made.REDIS_URL = (await step('Redis', () => startLocalRedis(own))).url;
  }
  writeSecretFile(RUNNING_ENVIRONMENT, JSON.stringify(made));
  teardown.add(RANK.application, { stop: async () => rmSync(RUNNING_ENVIRONMENT, { force: true }) });
  return { ...given, ...made };
}

/** The port asked for or, outside production, the next free one. */
export async function choosePort(env) {
  const wanted = Number(env.PORT ?? DEFAULT_PORT);
  if (await isFree(wanted, env.HOST)) return { port: wanted, note: '' };
  if (env.NODE_ENV === 'production') throw new UserError(`Port ${wanted} is taken. Set PORT to another one.`);
  return { port: await nextFreePort(wanted + 1, env.HOST), note: ` (port ${wanted} is taken)` };
}

/** Closed to other users, whatever the umask is, because of the recordings. Root's database server gets access later. */
function prepareFolders() {
  if (process.getuid() !== 0) chmodSync(DATA, 0o700);
  for (const name of ['logs', 'run', 'storage']) mkdirSync(join(DATA, name), { recursive: true, mode: 0o700 });
}

function takeLock() {
  const lock = acquireLock(START_LOCK);
  if (lock.release) return lock;
  throw new UserError(
    `The service is already running in this folder, started by process ${lock.holder}. Stop that one first.`,
  );
}

function stopOnSignals(isReady) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (teardown.isRunning) return;
      process.exitCode = isReady() ? 0 : 128 + constants.signals[signal];
      void lastStep('Stopping', end).finally(() => process.exit());
    });
  }
}

async function end() {
  await Promise.all([teardown.run(), stopTools()]);
  return 'everything that was started is stopped';
}
