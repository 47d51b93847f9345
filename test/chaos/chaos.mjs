// Crashes everything while people upload, and counts what is lost: docs/reliability.md.
//   npm run chaos -- [--seed N] [--short] [--s3] [--only FAULT] [--without reconciler|leases]
// One fault without a protection from it shows what that protection is worth.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

import { cleanEnvironment } from '../../scripts/lib/environment.mjs';
import { prepareProject } from '../../scripts/lib/setup.mjs';
import { printError } from '../../scripts/lib/steps.mjs';
import { ensureSystemPackages } from '../../scripts/lib/system-packages.mjs';
import { settingsWithout, sizeOf } from './plan.mjs';
import { Run } from './run.mjs';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: `${randomInt(1_000_000)}` },
    short: { type: 'boolean', default: false },
    s3: { type: 'boolean', default: false },
    only: { type: 'string' },
    without: { type: 'string' },
  },
});

try {
  await ensureSystemPackages(cleanEnvironment());
  await prepareProject();
  const { findings, figures } = await Run.perform({
    seed: values.seed,
    size: sizeOf(values),
    onS3: values.s3,
    settings: settingsWithout(values.without),
  });
  printTable(findings, figures);
  process.exitCode = findings.every(({ ok }) => ok) ? 0 : 1;
} catch (error) {
  printError(error);
  process.exitCode = 1;
}

function printTable(findings, figures) {
  const width = Math.max(...[...findings, ...figures].map(({ what }) => what.length)) + 2;
  console.log();
  for (const { what, found } of figures) console.log(`  ${what.padEnd(width)}${found}`);
  console.log();
  for (const { what, found, allowed, ok } of findings) {
    console.log(
      `  ${what.padEnd(width)}${String(found).padStart(5)}  of ${String(allowed).padStart(3)}  ${ok ? 'ok' : 'FAILED'}`,
    );
  }
  console.log(findings.every(({ ok }) => ok) ? '\nNothing was lost.' : '\nSomething was lost.');
}
