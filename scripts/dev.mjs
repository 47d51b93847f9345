// `npm run dev`: the service with the PostgreSQL and Redis of `npm start`, started again after each change in `src`, of
// the console, or of the client library.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';

import { healthOf, reachable } from './lib/application.mjs';
import { forgetConsoleBuild } from './lib/builds.mjs';
import { demoAccount, printCommands, signInLink } from './lib/demo.mjs';
import { choosePort, RANK, runLocally, startServices, teardown } from './lib/local-run.mjs';
import { ROOT } from './lib/paths.mjs';
import { stopProcess, waitUntil } from './lib/processes.mjs';
import { prepareProject } from './lib/setup.mjs';
import { parallelStep, seconds, step } from './lib/steps.mjs';
import { ensureSystemPackages } from './lib/system-packages.mjs';

const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 2000;

let env;
/** The process that serves, and the one that has loaded all packages and waits to take its place. */
let current;
let standby;
/** Restarts run one after the other. */
let restarting = Promise.resolve();

await runLocally(main);

async function main(given) {
  console.log('Voice Note Transcription Service, development\n');
  await Promise.all([parallelStep('System', () => ensureSystemPackages(given)), prepareProject({ tools: false })]);
  const services = await startServices(given);
  const { port, note } = await choosePort(services);
  env = { LOG_LEVEL: 'warn', ...services, PORT: String(port) };
  const baseUrl = `http://${reachable(env.HOST)}:${port}`;
  teardown.add(RANK.application, { stop: () => Promise.all([current, standby].map(stop)) });
  standby = prepareProcess();
  await step('Console', watchConsole);
  await step('Compiler', watchSources);
  await restarting;
  const { credentials } = await step('Demo account', () => demoAccount(baseUrl, env));
  console.log();
  printCommands(baseUrl, credentials);
  if (env.CONSOLE !== 'off') console.log(`  Console        ${await signInLink(baseUrl, credentials)}`);
  console.log(`  Base URL       ${baseUrl}${note}\n  Documentation  ${baseUrl}/docs`);
  console.log('  Logs           below, from LOG_LEVEL=warn on\n  Stop           Ctrl-C\n');
}

/** Resolves after the first compilation. Each one that found no error starts the service again. */
function watchSources() {
  const nest = join(ROOT, 'node_modules', '@nestjs', 'cli', 'bin', 'nest.js');
  const args = [nest, 'build', '--watch', '--preserveWatchOutput'];
  const compiler = startTool(args);
  let startedAt = performance.now();
  return new Promise((resolve, reject) => {
    compiler.once('exit', () => reject(new Error('The compiler ended.')));
    createInterface({ input: compiler.stdout }).on('line', (line) => {
      if (line.includes('Starting')) startedAt = performance.now();
      else if (line.includes('Found 0 errors')) {
        restartSince(startedAt);
        resolve('watches src');
      } else if (line.trim()) console.log(line);
    });
  });
}

/** Resolves after the first build. The service reads the console when it starts, so each later one starts it again. */
function watchConsole() {
  forgetConsoleBuild();
  const vite = join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js');
  const builder = startTool([vite, 'build', 'console', '--watch', '--clearScreen', 'false']);
  let startedAt = performance.now();
  let isFirst = true;
  return new Promise((resolve, reject) => {
    builder.once('exit', () => reject(new Error('The build of the console ended.')));
    createInterface({ input: builder.stdout }).on('line', (line) => {
      if (line.includes('build started')) startedAt = performance.now();
      if (!line.includes('built in')) return;
      if (!isFirst) restartSince(startedAt);
      isFirst = false;
      resolve('watches console and sdk');
    });
  });
}

function startTool(args) {
  const tool = spawn(process.execPath, args, { cwd: ROOT, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  teardown.add(RANK.application, { stop: () => stop(tool) });
  return tool;
}

function restartSince(startedAt) {
  restarting = restarting.then(() => restart(startedAt)).catch((error) => console.error(error.message));
}

async function restart(since) {
  if (teardown.isRunning) return;
  await stop(current);
  [current, standby] = [standby, undefined];
  current.send('start');
  const child = current;
  const ready = await waitUntil(
    async () => child.exitCode !== null || (await healthOf(env.PORT, env.HOST)) === 'ready',
    READY_TIMEOUT_MS,
  );
  const isUp = ready && child.exitCode === null;
  console.log(isUp ? `  ${time()} ready in ${seconds(performance.now() - since)}` : `  ${time()} not ready`);
  standby = prepareProcess();
}

function prepareProcess() {
  return spawn(process.execPath, [join(ROOT, 'scripts', 'dev-process.mjs')], {
    cwd: ROOT,
    env,
    // A group of its own: Ctrl-C reaches this command only, which then stops everything in order.
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

async function stop(child) {
  if (child) await stopProcess(child.pid, 'SIGTERM', STOP_TIMEOUT_MS);
}

function time() {
  return new Date().toTimeString().slice(0, 8);
}
