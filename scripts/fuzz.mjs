// `npm run fuzz -- [--seed N] [--requests N]`: sends valid and invalid requests generated from openapi.json to the
// service, with a temporary PostgreSQL and Redis. The seed is random and printed; the same seed repeats the requests.
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { localBin } from './lib/checks.mjs';
import { cleanEnvironment } from './lib/environment.mjs';
import { ROOT } from './lib/paths.mjs';
import { runVisibly } from './lib/processes.mjs';

// Ctrl-C reaches the tests and their services too; they are waited for, so that nothing is left behind.
process.on('SIGINT', () => {});

try {
  process.exitCode = await fuzz(readOptions());
} catch (error) {
  console.error(`${error.message}\nusage: npm run fuzz -- [--seed N] [--requests N]`);
  process.exitCode = 2;
}

function fuzz({ seed, requests }) {
  const file = join(ROOT, 'test', 'http', 'input', 'fuzz.e2e.ts');
  const jest = localBin('jest', '--selectProjects', 'e2e', '--runTestsByPath', file);
  const args = [join(ROOT, 'scripts', 'services.mjs'), '--temporary', '--', ...jest];
  const env = { ...cleanEnvironment(), FUZZ_SEED: String(seed), FUZZ_REQUESTS: String(requests) };
  return runVisibly(process.execPath, args, { cwd: ROOT, env });
}

function readOptions() {
  const { values } = parseArgs({ options: { seed: { type: 'string' }, requests: { type: 'string' } } });
  const { seed = String(randomInt(1_000_000_000)), requests = '3000' } = values;
  return { seed: wholeNumber(seed), requests: wholeNumber(requests) };
}

function wholeNumber(text) {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${text} is not an integer of at most nine digits`);
  return Number(text);
}
