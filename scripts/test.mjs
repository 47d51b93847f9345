// `npm test`: all checks and tests, with services of its own. `npm test -- test/http/main-job.e2e.ts` runs only those
// e2e tests; whatever follows `--` goes to jest.
import { check, inSequence, localBin, repeatFailed, report, runJest, runStaticChecks } from './lib/checks.mjs';
import { cleanEnvironment } from './lib/environment.mjs';
import { checkOnNode, NODE_24 } from './lib/other-node.mjs';
import { ROOT } from './lib/paths.mjs';
import { runVisibly, stopTools } from './lib/processes.mjs';
import { checkPlatform, prepareProject } from './lib/setup.mjs';
import { lastStep, parallelStep, printError, seconds, step } from './lib/steps.mjs';
import { ensureSystemPackages, findTestBrowser, installTestPackages } from './lib/system-packages.mjs';
import { Teardown } from './lib/teardown.mjs';
import { startTemporaryServices } from './lib/temporary-services.mjs';

// Most e2e tests wait for something most of the time: four at once keep two cores busy.
const WORKERS = '--maxWorkers=4';

/** Tests that compare a duration with a fixed limit. They run one at a time when nothing else does. */
const TIMED = String.raw`\.timed\.e2e\.ts$`;

const jestArguments = process.argv.slice(2);
const startedAt = performance.now();
const teardown = new Teardown();
let isStopping = false;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    if (isStopping) return;
    isStopping = true;
    void lastStep('Stopping', stopAll).finally(() => process.exit(130));
  });
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!isStopping) printError(error);
  process.exitCode = 1;
} finally {
  // An interrupted run ends in its handler.
  if (!isStopping) await teardown.run();
}

async function main() {
  checkPlatform();
  const clean = cleanEnvironment();
  const system = parallelStep('System', async () => {
    const done = await ensureSystemPackages(clean);
    await installTestPackages();
    return done;
  });
  await Promise.all([system, prepareProject()]);
  const services = await step('Services', startServices);
  const env = { ...clean, ...services.env, CHROMIUM: findTestBrowser() };
  if (jestArguments.length > 0) {
    const [command, ...args] = localBin('jest', ...jestArguments, '--selectProjects', 'e2e');
    return runVisibly(command, args, { cwd: ROOT, env });
  }

  const { folder } = services;
  const withFolder = { ...clean, TMPDIR: services.env.TMPDIR };
  const [checks, tests] = await Promise.all([
    inSequence(
      () => runStaticChecks(withFolder),
      () => check('Chaos', [process.execPath, 'test/chaos/chaos.mjs', '--short', '--seed', '1'], withFolder),
    ),
    // In one run, so that the short unit tests come last and no worker waits for another.
    runJest('Tests', ['e2e', 'unit'], { env, folder, args: [WORKERS, `--testPathIgnorePatterns=${TIMED}`] }),
  ]);
  const alone = ['--runInBand', `--testPathPatterns=${TIMED}`];
  const timed = await runJest('Timed tests', ['e2e'], { env, folder, args: alone });
  const outcomes = [
    ...checks,
    await repeatFailed(tests, ['e2e', 'unit'], { env, folder }),
    await repeatFailed(timed, ['e2e'], { env, folder }),
  ];
  outcomes.push(await check('Smoke test', [process.execPath, 'scripts/smoke.mjs'], env));
  outcomes.push(await checkOnNode(NODE_24, 'Smoke test on Node 24', 'scripts/smoke.mjs', env));
  console.log(`\nAll of it took ${seconds(performance.now() - startedAt)}.`);
  return report(outcomes);
}

/** First what writes to the folder of the services, then the folder. */
async function stopAll() {
  try {
    await stopTools();
  } finally {
    await teardown.run();
  }
}

async function startServices() {
  const starting = startTemporaryServices();
  // Known before they run: an interrupted start cleans up after itself, and is waited for.
  teardown.add(1, { stop: () => starting.then((services) => services.stop()).catch(() => {}) });
  const services = await starting;
  return { ...services, detail: `PostgreSQL and Redis in ${services.folder}` };
}
