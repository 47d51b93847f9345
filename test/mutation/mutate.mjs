// `npm run mutate -- [--only PART] [--faults FILE] [--match TEXT] [--list]`: puts small faults into a copy of the checkout,
// one at a time, and runs the tests that must notice each of them. Services are temporary. Fails when less than 90 % are
// noticed. FILE is a module with a list of groups of other faults as its default export, in the shape of those in faults/.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { localBin } from '../../scripts/lib/checks.mjs';
import { cleanEnvironment } from '../../scripts/lib/environment.mjs';
import { readJsonIfAny } from '../../scripts/lib/files.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { run, stopTools } from '../../scripts/lib/processes.mjs';
import { prepareProject } from '../../scripts/lib/setup.mjs';
import { printError, seconds, UserError } from '../../scripts/lib/steps.mjs';
import { startTemporaryServices } from '../../scripts/lib/temporary-services.mjs';
import { FAULTS, faultsOf, PART_NAMES, projectOf, withFault } from './catalogue.mjs';

const GOAL = 0.9;
/** A fault may make a test wait for ever, which is noticed too. */
const TIME_LIMIT_MS = 5 * 60_000;

/** What is undone at the end, the last first. */
const undo = [];

let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    interrupted = true;
    void stopTools();
  });
}

try {
  process.exitCode = await main();
} catch (error) {
  printError(error);
  process.exitCode = 2;
} finally {
  for (const step of undo.toReversed()) await step();
}

async function main() {
  const { only, match, list, faults: given } = readOptions();
  const known = given ? faultsOf('given', (await import(pathToFileURL(resolve(given)).href)).default) : FAULTS;
  const faults = known.filter(({ part, what, file }) => (!only || part === only) && `${file} ${what}`.includes(match));
  for (const fault of faults) withFault(ROOT, fault);
  if (list) {
    for (const { part, file, what } of faults) console.log(`${part.padEnd(11)} ${file}: ${what}`);
    console.log(`${faults.length} faults`);
    return 0;
  }
  await prepareProject();
  const copy = copyOfCheckout();
  const env = { ...cleanEnvironment(), ...(await servicesFor(faults)) };
  await requirePassing(copy, env, faults);
  const results = [];
  for (const fault of faults) {
    const started = performance.now();
    const result = { fault, ...(await tryFault(copy, env, fault)) };
    if (interrupted) throw new UserError('Interrupted.');
    results.push(result);
    console.log(`${lineOf(result)}  ${seconds(performance.now() - started)}`);
  }
  return summarise(results);
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      faults: { type: 'string' },
      match: { type: 'string', default: '' },
      list: { type: 'boolean' },
    },
  });
  if (values.only && !PART_NAMES.includes(values.only)) throw new UserError(`--only takes ${PART_NAMES.join(', ')}`);
  return values;
}

/** Of all files that git knows or would add, beside the installed packages and the build, which are shared. */
function copyOfCheckout() {
  const copy = mkdtempSync(join(tmpdir(), 'voice-notes-mutation-'));
  undo.push(() => rmSync(copy, { recursive: true, force: true }));
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  for (const file of listed.toString('utf8').split('\0').filter(Boolean)) {
    if (existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(copy, file), { recursive: true });
  }
  for (const folder of ['node_modules', 'dist']) symlinkSync(join(ROOT, folder), join(copy, folder));
  return copy;
}

async function servicesFor(faults) {
  if (!faults.some(({ tests }) => projectOf(tests) === 'e2e')) return {};
  const services = await startTemporaryServices();
  undo.push(() => services.stop());
  return services.env;
}

/** Without a fault every named test passes, and there is one: otherwise what they notice would mean nothing. */
async function requirePassing(copy, env, faults) {
  const runs = new Map();
  for (const { tests, name } of faults) {
    const project = projectOf(tests);
    const key = project === 'unit' ? 'unit' : `${tests} ${name}`;
    const earlier = runs.get(key) ?? { project, tests: new Set(), name: project === 'unit' ? undefined : name };
    for (const test of tests) earlier.tests.add(test);
    runs.set(key, earlier);
  }
  for (const { project, tests, name } of runs.values()) {
    const { passed, failed, output } = await runTests(copy, env, { project, tests: [...tests], name });
    if (interrupted) throw new UserError('Interrupted.');
    if (failed.length > 0 || passed === 0) {
      throw new UserError(`Without a fault these do not pass: ${[...tests].join(', ')} (${name ?? 'all'})\n${output}`);
    }
  }
}

async function tryFault(copy, env, fault) {
  const target = join(copy, fault.file);
  // From the copy, which stays the same when the checkout changes during a long run.
  const original = readFileSync(target);
  writeFileSync(target, withFault(copy, fault));
  try {
    const { project = projectOf(fault.tests), tests, name } = fault;
    const { failed, loaded, timedOut } = await runTests(copy, env, { project, tests, name });
    if (!loaded) throw new UserError(`${fault.file}: "${fault.what}" is no valid code`);
    return { found: timedOut || failed.length > 0, by: timedOut ? 'the time limit' : failed[0] };
  } finally {
    writeFileSync(target, original);
  }
}

/** @returns the names of the tests that failed; `loaded` is false when a file could not be run at all */
async function runTests(copy, env, { project, tests, name }) {
  const outputFile = join(copy, 'mutation-result.json');
  rmSync(outputFile, { force: true });
  const flags = ['--selectProjects', project, '--ci', '--runInBand', '--json', `--outputFile=${outputFile}`];
  const [command, ...args] = localBin('jest', '--rootDir', copy, ...flags, ...(name ? ['-t', name] : []));
  const started = performance.now();
  const { code, output } = await run(command, [...args, '--runTestsByPath', ...tests], {
    cwd: copy,
    env,
    timeLimitMs: TIME_LIMIT_MS,
  });
  const written = readJsonIfAny(outputFile);
  const timedOut = !written && performance.now() - started >= TIME_LIMIT_MS;
  const cases = (written?.testResults ?? []).flatMap(({ assertionResults }) => assertionResults);
  const failed = cases.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
  // A service that does not start any more fails in a hook, before there is a test.
  const isBroken = /SyntaxError|Syntax Error|Cannot find module/.test(output) && failed.length === 0;
  if (code !== 0 && failed.length === 0) failed.push('a set-up that failed');
  return {
    failed,
    passed: cases.filter(({ status }) => status === 'passed').length,
    loaded: !isBroken,
    timedOut,
    output,
  };
}

function lineOf({ fault: { part, file, what }, found, by }) {
  const name = file.slice(file.lastIndexOf('/') + 1);
  return `${found ? 'found    ' : 'NOT FOUND'}  ${part.padEnd(10)}  ${name}: ${what}${found ? `  <- ${by}` : ''}`;
}

function summarise(results) {
  const rate = (of) => `${of.filter(({ found }) => found).length} of ${of.length}`;
  console.log('');
  for (const part of new Set(results.map(({ fault }) => fault.part))) {
    const of = results.filter(({ fault }) => fault.part === part);
    console.log(`${part.padEnd(11)} ${rate(of)}`);
  }
  const missed = results.filter(({ found }) => !found);
  if (missed.length > 0) console.log(`\nNot found:\n${missed.map(lineOf).join('\n')}`);
  const share = (results.length - missed.length) / results.length;
  console.log(`\n${rate(results)} faults found (${(share * 100).toFixed(1)} %)`);
  return share >= GOAL ? 0 : 1;
}
