// Crashes everything while people upload, and counts what is lost: docs/reliability.md.
//   npm run chaos -- [--seed N] [--short] [--s3] [--only FAULT]
//   npm run chaos -- --control [--seed N] [--only FAULT]
// With --control each fault is also tried on a service without the protection that the fault is about.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

import { cleanEnvironment } from '../../scripts/lib/environment.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { prepareProject } from '../../scripts/lib/setup.mjs';
import { printError, UserError } from '../../scripts/lib/steps.mjs';
import { ensureSystemPackages } from '../../scripts/lib/system-packages.mjs';
import { CONTROLS } from './controls/controls.mjs';
import { faultyBuild } from './controls/faulty-build.mjs';
import { sizeOf } from './plan.mjs';
import { Run } from './run.mjs';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: `${randomInt(1_000_000)}` },
    short: { type: 'boolean', default: false },
    s3: { type: 'boolean', default: false },
    only: { type: 'string' },
    control: { type: 'boolean', default: false },
  },
});

try {
  await ensureSystemPackages(cleanEnvironment());
  await prepareProject();
  const isAsPromised = values.control ? await tryControls(values) : await tryFaults();
  process.exitCode = isAsPromised ? 0 : 1;
} catch (error) {
  printError(error);
  process.exitCode = 1;
}

async function tryFaults() {
  const { seed, s3: onS3 } = values;
  const result = await Run.perform({ seed, size: sizeOf(values), onS3 });
  printResult(result);
  return lossesOf(result.findings).length === 0;
}

/**
 * Runs each fault twice with the same load: as the service is, and without the protection that the fault is about.
 * @param {{ seed: string, only?: string }} options only: a kind of fault
 * @returns {Promise<boolean>} whether the first lost nothing, and the second something, each time
 */
async function tryControls({ seed, only }) {
  const controls = CONTROLS.filter(({ fault }) => only === undefined || fault === only);
  if (controls.length === 0) {
    throw new UserError(`With --control, --only takes one of: ${CONTROLS.map(({ fault }) => fault).join(', ')}`);
  }
  const lines = [];
  let isProven = true;
  for (const control of controls) {
    const faulty = faultyBuild(ROOT, control);
    const protectedRun = await perform(control, seed, ROOT);
    const faultyRun = await perform(control, seed, faulty);
    isProven &&= lossesOf(protectedRun).length === 0 && lossesOf(faultyRun).length > 0;
    lines.push(control.fault, `  as it is: ${verdictOf(protectedRun)}`);
    lines.push(`  without "${control.without}": ${verdictOf(faultyRun)}`);
  }
  console.log(`\n${lines.join('\n')}`);
  console.log(isProven ? '\nEach protection is needed.' : '\nA control has not shown what it must.');
  return isProven;
}

async function perform({ fault, without, size, onS3 = false }, seed, root) {
  console.log(`\n${fault}${root === ROOT ? '' : `, without: ${without}`}`);
  const { findings } = await Run.perform({ seed, size, onS3, root });
  return findings;
}

/** @param {{ findings: import('./checker.mjs').Finding[], figures: { what: string, found: string }[] }} result */
function printResult({ findings, figures }) {
  const width = Math.max(...[...findings, ...figures].map(({ what }) => what.length)) + 2;
  console.log();
  for (const { what, found } of figures) console.log(`  ${what.padEnd(width)}${found}`);
  console.log();
  for (const { what, found, allowed, ok } of findings) {
    console.log(
      `  ${what.padEnd(width)}${String(found).padStart(5)}  of ${String(allowed).padStart(3)}  ${ok ? 'ok' : 'FAILED'}`,
    );
  }
  console.log(`\n${verdictOf(findings)}`);
}

/** @param {import('./checker.mjs').Finding[]} findings */
function verdictOf(findings) {
  const lost = lossesOf(findings);
  return lost.length === 0 ? 'Nothing was lost.' : `Something was lost: ${lost.join('; ')}.`;
}

/** @param {import('./checker.mjs').Finding[]} findings @returns {string[]} what is not as promised */
function lossesOf(findings) {
  return findings.filter(({ ok }) => !ok).map(({ what, found }) => `${what}: ${found}`);
}
