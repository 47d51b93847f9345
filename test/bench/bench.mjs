// How fast, as ratios against baselines of the same run: docs/performance.md.
//   npm run bench -- [--quick] [--only get,list] [--recordings 10000000] [--attack-seconds 600] [--explain]
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { cleanEnvironment } from '../../scripts/lib/environment.mjs';
import { DATA } from '../../scripts/lib/paths.mjs';
import { prepareProject } from '../../scripts/lib/setup.mjs';
import { printError, step } from '../../scripts/lib/steps.mjs';
import { ensureSystemPackages } from '../../scripts/lib/system-packages.mjs';
import { Stage } from './lib/stage.mjs';
import { MEASURES } from './measures/measures.mjs';

const FULL = {
  pairs: 5,
  seconds: 5,
  recordings: 1_000_000,
  uploads: 400,
  deliveries: 10_000,
  longSeconds: 600,
  hangingSeconds: 600,
  attackSeconds: 120,
};
const QUICK = {
  pairs: 3,
  seconds: 2,
  recordings: 100_000,
  uploads: 100,
  deliveries: 2000,
  longSeconds: 120,
  hangingSeconds: 60,
  attackSeconds: 20,
};

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    recordings: { type: 'string' },
    'attack-seconds': { type: 'string' },
    explain: { type: 'boolean', default: false },
  },
});
const extent = {
  ...(values.quick ? QUICK : FULL),
  ...(values.recordings && { recordings: Number(values.recordings) }),
  explain: values.explain,
  ...(values['attack-seconds'] && { attackSeconds: Number(values['attack-seconds']) }),
};
const names = values.only?.split(',') ?? Object.keys(MEASURES);
const unknown = names.filter((name) => !Object.hasOwn(MEASURES, name));
if (unknown.length > 0) {
  console.error(`Unknown measure: ${unknown.join(', ')}. The measures are: ${Object.keys(MEASURES).join(', ')}.`);
  process.exit(1);
}

try {
  await ensureSystemPackages(cleanEnvironment());
  await prepareProject();
  const results = [];
  for (const name of names) results.push(...(await step(name, () => perform(MEASURES[name]))));
  print(results);
  process.exitCode = results.every(isMet) ? 0 : 1;
} catch (error) {
  printError(error);
  process.exitCode = 1;
}

/** Each on a stage of its own: what one leaves behind must not weigh on the next. */
async function perform(measure) {
  const stage = await Stage.open();
  try {
    return await measure(stage, extent);
  } finally {
    await stage.close();
  }
}

function isMet({ value, target, atMost = false }) {
  if (target === undefined) return true;
  return atMost ? value <= target : value >= target;
}

function print(results) {
  const machine = `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`;
  console.log(`\n${machine}\n`);
  const width = Math.max(...results.map(({ what }) => what.length)) + 2;
  for (const result of results) {
    const { what, value, target, atMost, figures } = result;
    const wanted = target === undefined ? '' : `${atMost ? '≤' : '≥'} ${target}`;
    const outcome = target === undefined ? '' : isMet(result) ? 'met' : 'MISSED';
    console.log(
      `  ${what.padEnd(width)}${value.toFixed(2).padStart(7)}  ${wanted.padEnd(8)}${outcome.padEnd(8)}${figures}`,
    );
  }
  const folder = join(DATA, 'bench');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${new Date().toISOString().replaceAll(':', '-')}.json`);
  writeFileSync(file, `${JSON.stringify({ machine, quick: values.quick, results }, null, 2)}\n`);
  console.log(`\n${file}`);
}
