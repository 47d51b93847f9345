// Runs a command with a temporary PostgreSQL and Redis, and removes them afterwards:
//   node scripts/services.mjs --temporary -- npx jest --selectProjects e2e
// The command finds them in DATABASE_URL and REDIS_URL, jest in TEST_DATABASE_URL and TEST_REDIS_URL; the database user may create further databases.
import { spawn } from 'node:child_process';

import { printError } from './lib/steps.mjs';
import { startTemporaryServices } from './lib/temporary-services.mjs';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

const [flag, dashes, command, ...args] = process.argv.slice(2);
if (flag !== '--temporary' || dashes !== '--' || !command) {
  console.error('usage: node scripts/services.mjs --temporary -- command [arguments]');
  process.exit(2);
}

let child = null;
let interrupted = false;
// The command stops itself on Ctrl-C, being in the same process group; the services are stopped after it.
for (const signal of STOP_SIGNALS) {
  process.on(signal, () => {
    interrupted = true;
    if (signal !== 'SIGINT') child?.kill(signal);
  });
}

let services;
try {
  services = await startTemporaryServices();
  if (!interrupted) process.exitCode = await runCommand();
} catch (error) {
  printError(error);
  process.exitCode = 1;
} finally {
  await services?.stop();
}

function runCommand() {
  return new Promise((resolve) => {
    child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...services.env } });
    child.on('error', (error) => {
      console.error(`${command}: ${error.message}`);
      resolve(127);
    });
    child.on('exit', (code) => resolve(code ?? 1));
  });
}
