// `npm run build`: builds the service and the console, whether or not something has changed.
import { buildAll } from './lib/builds.mjs';
import { printError } from './lib/steps.mjs';

try {
  console.log(`built: ${await buildAll({ always: true })}`);
} catch (error) {
  printError(error);
  process.exitCode = 1;
}
