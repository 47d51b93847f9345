// Crashes everything while people upload, and counts what is lost: docs/reliability.md.
//   npm run chaos -- [--seed N] [--short] [--s3] [--only FAULT]
//   npm run chaos -- --control [--seed N] [--only FAULT]
// With --control each fault is also tried on a service without the protection that the fault is about.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

import { cleanEnvironment } from '../../scripts/lib/environment.mjs';
import { prepareProject } from '../../scripts/lib/setup.mjs';
import { printError } from '../../scripts/lib/steps.mjs';
import { ensureSystemPackages } from '../../scripts/lib/system-packages.mjs';
import { tryControls } from './controls/try-controls.mjs';
import { sizeOf } from './plan.mjs';
import { lossesOf, printResult } from './report.mjs';
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
