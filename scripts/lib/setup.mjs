import { join } from 'node:path';

import { buildAll } from './builds.mjs';
import { readJsonIfAny } from './files.mjs';
import { acquireLock } from './lock.mjs';
import { DATA, ROOT } from './paths.mjs';
import { run, waitUntil } from './processes.mjs';
import { step, UserError } from './steps.mjs';

const MINIMUM_NODE = [20, 19];
const SETUP_LOCK_TIMEOUT_MS = 600_000;

export function checkPlatform() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor < MINIMUM_NODE[1])) {
    throw new UserError(`This needs Node ${MINIMUM_NODE.join('.')} or newer; this is Node ${process.versions.node}.`);
  }
  if (process.platform === 'win32') throw new UserError('This runs on Linux and macOS; on Windows use WSL 2.');
}

/** Installs packages and builds, each only when needed; one process at a time. */
export async function prepareProject() {
  const lock = await waitForLock(join(DATA, 'setup.lock'));
  try {
    await step('Packages', installPackages);
    await step('Build', buildAll);
  } finally {
    lock.release();
  }
}

async function installPackages() {
  const wanted = lockedPackages(join(ROOT, 'package-lock.json'));
  if (matches(wanted)) return 'match the lock';
  // Without NODE_ENV: `production` would leave out the compiler and the packaged PostgreSQL.
  const { NODE_ENV: _, ...env } = process.env;
  // No package needs its install script: those that hold native code ship it built.
  const flags = ['--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const [command, ...args] = npmCommand('ci', ...flags);
  const { code, output } = await run(command, args, { cwd: ROOT, env });
  if (code !== 0) throw new UserError(`npm ci failed:\n${output.trim()}`);
  return `${Object.keys(lockedPackages(join(ROOT, 'node_modules', '.package-lock.json'))).length} installed`;
}

/** The npm that runs this command, or the one of PATH. */
export function npmCommand(...args) {
  const npm = process.env.npm_execpath;
  return npm?.endsWith('.js') ? [process.execPath, npm, ...args] : ['npm', ...args];
}

/** npm writes down what it installed once all of it is there. */
function matches(wanted) {
  const installed = lockedPackages(join(ROOT, 'node_modules', '.package-lock.json'));
  return Object.entries(wanted).every(([path, entry]) => {
    // An optional package may be one for another system.
    if (!installed[path]) return entry.optional === true;
    return installed[path].version === entry.version && installed[path].integrity === entry.integrity;
  });
}

function lockedPackages(file) {
  const packages = readJsonIfAny(file)?.packages ?? {};
  return Object.fromEntries(Object.entries(packages).filter(([path]) => path.includes('node_modules/')));
}

async function waitForLock(file) {
  let lock = acquireLock(file);
  if (lock.release) return lock;
  console.log(`  Waiting for another set-up of this project (process ${lock.holder}).`);
  const taken = await waitUntil(() => Boolean((lock = acquireLock(file)).release), SETUP_LOCK_TIMEOUT_MS, 250);
  if (!taken) throw new UserError(`Process ${lock.holder} is still setting this project up.`);
  return lock;
}
