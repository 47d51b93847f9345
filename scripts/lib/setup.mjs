import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { buildAll } from './builds.mjs';
import { readFileIfAny, readJsonIfAny } from './files.mjs';
import { acquireLock } from './lock.mjs';
import { DATA, ROOT } from './paths.mjs';
import { run, waitUntil } from './processes.mjs';
import { parallelStep, UserError } from './steps.mjs';

const MINIMUM_NODE = [20, 19];
const SETUP_LOCK_TIMEOUT_MS = 600_000;
const LOCK_FILE = join(ROOT, 'package-lock.json');
/** npm writes down what it installed once all of it is there. */
const INSTALLED_FILE = join(ROOT, 'node_modules', '.package-lock.json');
/** Says that the packages for running were installed, and not those for checks and tests. */
const PART_STAMP = join(ROOT, 'node_modules', '.part');
const PART = ['--include-workspace-root', '--workspace', 'console'];
// No package needs its install script: those that hold native code ship it built.
const FLAGS = ['--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

export function checkPlatform() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor < MINIMUM_NODE[1])) {
    throw new UserError(`This needs Node ${MINIMUM_NODE.join('.')} or newer; this is Node ${process.versions.node}.`);
  }
  if (process.platform === 'win32') throw new UserError('This runs on Linux and macOS; on Windows use WSL 2.');
}

/**
 * Installs packages and builds, each only when needed; one process at a time.
 * @param {{ tools?: boolean }} options without `tools` the packages of the workspace `tools` may be missing: running the
 *   service does not need them
 */
export async function prepareProject({ tools = true } = {}) {
  const lock = await waitForLock(join(DATA, 'setup.lock'));
  try {
    await parallelStep('Packages', () => installPackages(tools));
    await parallelStep('Build', buildAll);
  } finally {
    lock.release();
  }
}

async function installPackages(tools) {
  const isPart = readFileIfAny(PART_STAMP) === fingerprint();
  if ((isPart && !tools) || matches(lockedPackages(LOCK_FILE))) return 'match the lock';
  // `npm ci` would first remove the packages of a service that runs from here: what is missing is added to a part.
  const [command, ...args] = npmCommand(
    ...(isPart ? ['install', '--no-save'] : ['ci']),
    ...FLAGS,
    ...(tools ? [] : PART),
  );
  // Without NODE_ENV: `production` would leave out the compiler and the packaged PostgreSQL.
  const { NODE_ENV: _, ...env } = process.env;
  const { code, output } = await run(command, args, { cwd: ROOT, env });
  if (code !== 0) throw new UserError(`The packages could not be installed:\n${output.trim()}`);
  if (!tools) writeFileSync(PART_STAMP, fingerprint());
  return `${Object.keys(lockedPackages(INSTALLED_FILE)).length} installed`;
}

/** Changes with the lock and with what is installed. */
function fingerprint() {
  const hash = createHash('sha256');
  for (const file of [LOCK_FILE, INSTALLED_FILE]) hash.update(readFileIfAny(file) ?? '');
  return hash.digest('hex');
}

/** The npm that runs this command, or the one of PATH. */
export function npmCommand(...args) {
  const npm = process.env.npm_execpath;
  return npm?.endsWith('.js') ? [process.execPath, npm, ...args] : ['npm', ...args];
}

function matches(wanted) {
  const installed = lockedPackages(INSTALLED_FILE);
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
