// `npm start`: sets everything up, runs the service on this machine and shows that it works. See README.md.
import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { join, relative } from 'node:path';

import { migrate, reachable, rolesOf, startApplication, stopLeftoverApplication } from './lib/application.mjs';
import { demoAccount, printCommands, transcribeSample } from './lib/demo.mjs';
import { checkProduction, localSettings, readEnvironment, RUNNING_ENVIRONMENT } from './lib/environment.mjs';
import { writeSecretFile } from './lib/files.mjs';
import { startLocalPostgres, startLocalRedis } from './lib/local-services.mjs';
import { acquireLock } from './lib/lock.mjs';
import { DATA, ROOT, START_LOCK } from './lib/paths.mjs';
import { isFree, nextFreePort } from './lib/ports.mjs';
import { stopTools } from './lib/processes.mjs';
import { checkPlatform, prepareProject } from './lib/setup.mjs';
import { lastStep, printError, seconds, step, UserError } from './lib/steps.mjs';
import { ensureSystemPackages } from './lib/system-packages.mjs';
import { Teardown } from './lib/teardown.mjs';

const DEFAULT_PORT = 3000;
/** The order of stopping: nobody loses the servers that it still talks to. */
const RANK = { application: 1, redis: 2, postgres: 3 };

const teardown = new Teardown();
const startedAt = performance.now();
let isReady = false;

try {
  checkPlatform();
  const env = readEnvironment();
  const production = env.NODE_ENV === 'production';
  if (production) checkProduction(env);
  const lock = takeLock();
  prepareFolders();
  stopOnSignals();
  process.on('exit', () => lock.release());
  await main(env, production);
} catch (error) {
  // While everything is being stopped, what was under way fails; that is no news.
  if (!teardown.isRunning) {
    printError(error);
    process.exitCode = 1;
    await end();
  }
}

async function main(given, production) {
  console.log('Voice Note Transcription Service\n');
  await step('System', () => ensureSystemPackages(given));
  await prepareProject();
  const env = await startServices(given, production);
  await step('Schema', () => migrate(env));
  const { port, note } = await choosePort(env, production);
  const baseUrl = `http://${reachable(env.HOST)}:${port}`;
  await step('Service', async () => {
    await startApplication(env, port, (supervisor) => teardown.add(RANK.application, supervisor));
    return `${rolesOf(env).join(' and ')} ready at ${baseUrl}${note}`;
  });
  const demo = !production && rolesOf(env).includes('api') ? await tryOut(baseUrl, env) : null;
  isReady = true;
  printReady(baseUrl, env, demo);
}

/** @returns {Promise<NodeJS.ProcessEnv>} the environment of the service's processes */
async function startServices(given, production) {
  await stopLeftoverApplication();
  if (production) return given;
  const made = localSettings(given);
  if (!given.DATABASE_URL) {
    const own = (supervisor) => teardown.add(RANK.postgres, supervisor);
    made.DATABASE_URL = (await step('PostgreSQL', () => startLocalPostgres(own))).url;
  }
  if (!given.REDIS_URL) {
    const own = (supervisor) => teardown.add(RANK.redis, supervisor);
    made.REDIS_URL = (await step('Redis', () => startLocalRedis(own))).url;
  }
  writeSecretFile(RUNNING_ENVIRONMENT, JSON.stringify(made));
  return { ...given, ...made };
}

/** The port asked for or, where nobody else is told of it, the next one that is free. */
async function choosePort(env, production) {
  const wanted = Number(env.PORT ?? DEFAULT_PORT);
  if (await isFree(wanted, env.HOST)) return { port: wanted, note: '' };
  if (production) throw new UserError(`Port ${wanted} is taken. Set PORT to another one.`);
  return { port: await nextFreePort(wanted + 1, env.HOST), note: ` (port ${wanted} is taken)` };
}

async function tryOut(baseUrl, env) {
  const { credentials } = await step('Demo account', () => demoAccount(baseUrl, env));
  if (credentials.sample || !rolesOf(env).includes('worker')) return credentials;
  try {
    const { sample, text } = await step('Sample', () => transcribeSample(baseUrl, credentials));
    console.log(`\n  “${text}”`);
    return { ...credentials, sample };
  } catch (error) {
    // The service runs; whoever started it can see for themselves what is the matter.
    if (!teardown.isRunning) printError(error);
    return credentials;
  }
}

function printReady(baseUrl, env, demo) {
  console.log(`\nReady in ${seconds(performance.now() - startedAt)}.\n`);
  if (demo) printCommands(baseUrl, demo);
  if (rolesOf(env).includes('api')) console.log(`  Base URL       ${baseUrl}\n  Documentation  ${baseUrl}/docs`);
  console.log(`  Logs           ${relative(ROOT, join(DATA, 'logs'))}\n  Stop           Ctrl-C\n`);
}

/** Closed to others, whatever the umask is: recordings lie here. Root's database server is let through later. */
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

function stopOnSignals() {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (teardown.isRunning) return;
      process.exitCode = isReady ? 0 : 128 + constants.signals[signal];
      void lastStep('Stopping', end).finally(() => process.exit());
    });
  }
}

async function end() {
  await Promise.all([teardown.run(), stopTools()]);
  rmSync(RUNNING_ENVIRONMENT, { force: true });
  return 'everything that was started is stopped';
}
