import { join, relative } from 'node:path';

import { DATA, ROOT } from './paths.mjs';
import { freePort } from './ports.mjs';
import { rotateLog, run, spawnServer, stopProcess, tailOf, waitUntil } from './processes.mjs';
import { usesModel } from './speech-model.mjs';
import { UserError } from './steps.mjs';
import { stopLeftover, Supervisor } from './supervisor.mjs';

const READY_TIMEOUT_MS = 60_000;
/** A large model is loaded once for each core, and then tried. */
const MODEL_READY_TIMEOUT_MS = 600_000;
/** A worker finishes or releases what it is transcribing before it exits. */
const STOP_TIMEOUT_MS = 30_000;
const CLI_TIMEOUT_MS = 60_000;
const ROLES = ['api', 'worker', 'transcriber', 'deliverer'];
const DEFAULT_ROLES = ['api', 'worker'];

/** Brings the database's schema up to date. */
export async function migrate(env) {
  const { code, output } = await run(process.execPath, ['dist/commands/migrate.js'], { cwd: ROOT, env });
  if (code !== 0) throw new UserError(`The database could not be migrated:\n${output.trim()}`);
}

/** Runs an operator's command and returns the JSON value that it prints. */
export async function runCli(args, env) {
  const options = { cwd: ROOT, env, timeout: CLI_TIMEOUT_MS };
  const { code, stdout, output } = await run(process.execPath, ['dist/commands/cli.js', ...args, '--json'], options);
  if (code !== 0) throw new UserError(`${args[0]} failed:\n${output.trim()}`);
  return JSON.parse(stdout);
}

export function stopLeftoverApplication() {
  return Promise.all(ROLES.map((role) => stopLeftover(role, 'SIGTERM', STOP_TIMEOUT_MS)));
}

/** The roles to run: each gets a process of its own, so that transcribing never slows an answer down. */
export function rolesOf(env) {
  const wanted = env.ROLES?.split(',').map((role) => role.trim());
  return wanted ? ROLES.filter((role) => wanted.includes(role)) : DEFAULT_ROLES;
}

/**
 * Starts a process for each role and waits until all can do their work.
 * @param {(supervisor: Supervisor) => void} own called before each process starts
 */
export async function startApplication(env, port, own) {
  const supervisors = await Promise.all(
    rolesOf(env).map(async (role, index) => {
      // A worker beside the API serves its health and metrics on any free port.
      const rolePort = index === 0 ? port : await freePort();
      const supervisor = superviseRole(role, { ...env, ROLES: role, PORT: String(rolePort) });
      own(supervisor);
      await supervisor.start();
      await waitUntilReady(supervisor, rolePort, env);
      return supervisor;
    }),
  );
  for (const supervisor of supervisors) supervisor.watch();
}

function superviseRole(role, env) {
  const logFile = join(DATA, 'logs', `${role}.log`);
  rotateLog(logFile);
  return new Supervisor({
    name: role,
    logFile,
    start: async () => spawnServer(process.execPath, ['dist/main.js'], { cwd: ROOT, env, logFile }),
    stop: async (child) => {
      await stopProcess(child.pid, 'SIGTERM', STOP_TIMEOUT_MS);
    },
  });
}

async function waitUntilReady(supervisor, port, env) {
  let answer = 'no answer';
  const ready = await waitUntil(
    async () => {
      if (supervisor.hasEnded()) return true;
      answer = await healthOf(port, env.HOST);
      return answer === 'ready';
    },
    usesModel(env) ? MODEL_READY_TIMEOUT_MS : READY_TIMEOUT_MS,
    50,
  );
  if (ready && !supervisor.hasEnded()) return;
  const what = supervisor.hasEnded() ? 'ended while starting' : `did not become ready: ${answer}`;
  const log = relative(ROOT, supervisor.logFile);
  throw new UserError(
    `The ${supervisor.name} process ${what}\n\nThe end of ${log}:\n${tailOf(supervisor.logFile, supervisor.logStart)}`,
  );
}

export async function healthOf(port, host) {
  try {
    const response = await fetch(`http://${reachable(host)}:${port}/health/ready`, {
      signal: AbortSignal.timeout(5000),
    });
    const text = await response.text();
    return response.ok ? 'ready' : `${response.status} ${text}`;
  } catch (error) {
    return error.cause?.code ?? error.message;
  }
}

/** The address to connect to for the one that is listened on. */
export function reachable(host) {
  if (!host || host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
