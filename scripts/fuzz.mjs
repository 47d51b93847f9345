// `npm run fuzz -- [--seed N] [--requests N]`: requests made up from openapi.json, right and wrong, against the service
// with a PostgreSQL and a Redis of its own. Another seed each time, unless one is given: it is printed, and makes the
// same requests again.
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { localBin } from './lib/checks.mjs';
import { cleanEnvironment } from './lib/environment.mjs';
import { ROOT } from './lib/paths.mjs';
import { runVisibly } from './lib/processes.mjs';

const DEFAULT_REQUESTS = 3000;

const { seed, requests } = readOptions();
const jest = localBin('jest', '--selectProjects', 'e2e', '--runTestsByPath', join(ROOT, 'test', 'e2e', 'fuzz.e2e.ts'));
process.exitCode = await runVisibly(
  process.execPath,
  [join(ROOT, 'scripts', 'services.mjs'), '--temporary', '--', ...jest],
  { cwd: ROOT, env: { ...cleanEnvironment(), FUZZ_SEED: String(seed), FUZZ_REQUESTS: String(requests) } },
);

function readOptions() {
  try {
    const { values } = parseArgs({ options: { seed: { type: 'string' }, requests: { type: 'string' } } });
    return {
      seed: wholeNumber(values.seed ?? String(randomInt(1_000_000_000))),
      requests: wholeNumber(values.requests ?? String(DEFAULT_REQUESTS)),
    };
  } catch (error) {
    console.error(`${error.message}\nusage: npm run fuzz -- [--seed N] [--requests N]`);
    process.exit(2);
  }
}

function wholeNumber(text) {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${text} is no whole number of at most nine digits`);
  return Number(text);
}
