import { join, relative } from 'node:path';

import { checkAdvisories } from './advisories.mjs';
import { readJsonIfAny } from './files.mjs';
import { ROOT } from './paths.mjs';
import { run } from './processes.mjs';
import { parallelStep } from './steps.mjs';

/**
 * @typedef {{ label: string, passed: number, failed: number, output: string, skipped?: string[],
 *   failedFiles?: string[], unstable?: { files: string[], output: string } }} Outcome
 */

/** A check that hangs is a check that fails. */
const TIME_LIMIT_MS = 60 * 60_000;

/** More than these do not fail because the machine was busy. */
const MOST_REPEATED_FILES = 6;

/** Checks that need no services. They run beside the unit tests: most of them use one core. */
const STATIC_CHECKS = [
  { label: 'Format', command: ['oxfmt', '--check'] },
  { label: 'Lint', command: ['oxlint', '--type-aware'] },
  // TypeScript 7, which checks in a tenth of the time. The build needs the API of TypeScript 6 for Nest's plugin.
  { label: 'Types', command: ['../typescript-native/bin/tsc', '--noEmit'] },
  { label: 'Types, client', command: ['../typescript-native/bin/tsc', '-p', 'sdk'] },
  { label: 'Types, tests of the client', command: ['../typescript-native/bin/tsc', '-p', 'test/sdk'] },
  { label: 'Types, console', command: ['../typescript-native/bin/tsc', '-p', 'console'] },
  { label: 'Types, service worker', command: ['../typescript-native/bin/tsc', '-p', 'console/service-worker'] },
  { label: 'Types, browser', command: ['../typescript-native/bin/tsc', '-p', 'test/console'] },
  {
    label: 'Import rules',
    command: [
      'depcruise',
      '--config',
      '.dependency-cruiser.cjs',
      'src',
      'examples',
      'console/src',
      'console/service-worker',
      'sdk/src',
    ],
  },
  { label: 'Dead code', command: ['knip'] },
  { label: 'API rules', command: ['redocly', 'lint', 'openapi.json'] },
];

/**
 * The static checks and the advisories, and beside them the unit tests. `npm test` does not ask for advisories: a commit that
 * has passed passes again.
 * @param {NodeJS.ProcessEnv} env @param {string} folder for jest's results
 */
export async function runFastChecks(env, folder) {
  const outcomes = await Promise.all([
    inSequence(
      () => runStaticChecks(env),
      () => checkAdvisories(env),
    ),
    runJest('Unit tests', ['unit'], { env, folder, args: ['--maxWorkers=1'] }),
  ]);
  return outcomes.flat();
}

/** Format, lint, types, import rules, dead code and the API description of a project that is built. */
export async function runStaticChecks(env) {
  // Redocly asks for news of itself and reports its use unless it is told not to; it needs no network.
  const quietEnv = { ...env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const checks = STATIC_CHECKS.map(
    ({ label, command }) =>
      () =>
        check(label, localBin(...command), quietEnv),
  );
  return inSequence(
    ...checks,
    () => check('API description', [process.execPath, 'scripts/check-openapi.mjs'], env),
    () => check('API changes', [process.execPath, 'scripts/check-api-changes.mjs'], env),
  );
}

/** Runs one step after the other. @returns all their outcomes */
export async function inSequence(...steps) {
  const outcomes = [];
  for (const next of steps) outcomes.push(await next());
  return outcomes.flat();
}

/** Runs a command that counts as one test. @returns {Promise<Outcome>} */
export function check(label, [command, ...args], env) {
  return parallelStep(label, async () => {
    const { code, output } = await run(command, args, { cwd: ROOT, env, timeLimitMs: TIME_LIMIT_MS });
    const failed = code === 0 ? 0 : 1;
    return { label, passed: 1 - failed, failed, output, detail: failed ? 'FAILED' : 'passed' };
  });
}

/** Runs the tests of some of jest's projects and counts them. @returns {Promise<Outcome>} */
export function runJest(label, projects, { env, folder, args = [] }) {
  return parallelStep(label, async () => {
    const results = join(folder, `${label.replaceAll(' ', '-')}.json`);
    const flags = ['--selectProjects', ...projects, '--ci', '--json', `--outputFile=${results}`, ...args];
    const [command, ...rest] = localBin('jest', ...flags);
    const { code, output } = await run(command, rest, { cwd: ROOT, env, timeLimitMs: TIME_LIMIT_MS });
    const written = readJsonIfAny(results);
    const { passed, failed } = countTests(written, code);
    const skipped = skippedTests(written);
    const detail = `${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`;
    return { label, passed, failed, skipped, failedFiles: failedFiles(written), output: withoutJson(output), detail };
  });
}

/**
 * Runs the files of failed tests once more, one at a time when nothing else runs: a test that needs a quiet machine is
 * told from a defect. What fails again stays failed; `report` names both.
 * @param {Outcome} outcome of `runJest` @returns {Promise<Outcome>}
 */
export async function repeatFailed(outcome, projects, { env, folder }) {
  const files = outcome.failedFiles ?? [];
  if (files.length === 0 || files.length > MOST_REPEATED_FILES) return outcome;
  const args = ['--runInBand', '--runTestsByPath', ...files];
  const alone = await runJest(`${outcome.label}, alone`, projects, { env, folder, args });
  if (alone.failed > 0) return { ...outcome, output: `${outcome.output.trim()}\n\nAlone:\n${alone.output}` };
  return {
    ...outcome,
    passed: outcome.passed + outcome.failed,
    failed: 0,
    output: '',
    unstable: { files, output: outcome.output },
  };
}

/** Prints what failed, what passed only alone and what was skipped, then the totals. @returns {number} the exit code */
export function report(outcomes) {
  for (const { label, output } of outcomes.filter(({ failed }) => failed > 0)) {
    console.log(`\n--- ${label} ---\n${output.trim()}`);
  }
  for (const { label, unstable } of outcomes) {
    if (!unstable) continue;
    console.log(`\n--- ${label}: failed beside others, passed alone ---\n${unstable.output.trim()}`);
    console.log(`\nPassed only alone:\n${unstable.files.map((file) => `  ${relative(ROOT, file)}`).join('\n')}`);
  }
  const skipped = outcomes.flatMap((outcome) => outcome.skipped ?? []);
  if (skipped.length > 0) console.log(`\nSkipped on this machine:\n${skipped.map((name) => `  ${name}`).join('\n')}`);
  const total = (name) => outcomes.reduce((sum, outcome) => sum + outcome[name], 0);
  console.log(`\n${total('passed')} passed, ${total('failed')} failed`);
  return total('failed') === 0 ? 0 : 1;
}

/** An installed package's command, run by this Node: without a shell or npx in between. */
export function localBin(name, ...args) {
  return [join(ROOT, 'node_modules', '.bin', name), ...args];
}

function countTests(results, code) {
  const passed = results?.numPassedTests ?? 0;
  // A file that could not be loaded has no tests that could fail.
  const failed = (results?.numFailedTests ?? 0) + (results?.numRuntimeErrorTestSuites ?? 0);
  return { passed, failed: failed === 0 && code !== 0 ? 1 : failed };
}

/** @returns {string[]} absolute paths */
function failedFiles(results) {
  return (results?.testResults ?? []).filter(({ status }) => status === 'failed').map(({ name }) => name);
}

/** The full names of tests that were not run. */
function skippedTests(results) {
  const tests = (results?.testResults ?? []).flatMap(({ assertionResults }) => assertionResults);
  return tests.filter(({ status }) => status === 'pending' || status === 'todo').map(({ fullName }) => fullName);
}

/** With --json jest also prints its results; what a person reads goes to standard error. */
function withoutJson(output) {
  return output
    .split('\n')
    .filter((line) => !line.startsWith('{"numFailedTestSuites"'))
    .join('\n');
}
