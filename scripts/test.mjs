// `npm test`: all checks and tests, with services of its own. `npm test -- test/e2e/webhooks.e2e.ts` runs only those
// e2e tests; whatever follows `--` goes to jest.
import { spawn } from 'node:child_process';

import { check, localBin, report, runFastChecks, runJest } from './lib/checks.mjs';
import { cleanEnvironment } from './lib/environment.mjs';
import { ROOT } from './lib/paths.mjs';
import { stopTools } from './lib/processes.mjs';
import { checkPlatform, prepareProject } from './lib/setup.mjs';
import { printError, seconds, step } from './lib/steps.mjs';
import { ensureSystemPackages } from './lib/system-packages.mjs';
import { Teardown } from './lib/teardown.mjs';
import { startTemporaryServices } from './lib/temporary-services.mjs';

const jestArguments = process.argv.slice(2);
const startedAt = performance.now();
const teardown = new Teardown();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    void Promise.all([stopTools(), teardown.run()]).finally(() => process.exit(130));
  });
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!teardown.isRunning) printError(error);
  process.exitCode = 1;
} finally {
  await teardown.run();
}

async function main() {
  checkPlatform();
  const clean = cleanEnvironment();
  await step('System', () => ensureSystemPackages(clean));
  await prepareProject();
  const services = await step('Services', startServices);
  const env = { ...clean, ...services.env };
  if (jestArguments.length > 0) return showJest(env);

  const outcomes = await runFastChecks(clean, services.folder);
  outcomes.push(await runJest('e2e tests', 'e2e', { env, folder: services.folder }));
  outcomes.push(await check('Smoke test', [process.execPath, 'scripts/smoke.mjs'], env));
  console.log(`\nAll of it took ${seconds(performance.now() - startedAt)}.`);
  return report(outcomes);
}

async function startServices() {
  const services = await startTemporaryServices();
  teardown.add(1, services);
  return { ...services, detail: `PostgreSQL and Redis in ${services.folder}` };
}

/** Chosen tests are watched while they run. */
function showJest(env) {
  return new Promise((resolve, reject) => {
    const [command, ...args] = localBin('jest', '--selectProjects', 'e2e', ...jestArguments);
    const child = spawn(command, args, { cwd: ROOT, env, stdio: 'inherit' });
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}
