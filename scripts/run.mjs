// Runs a built file of the service with the settings of the `npm start` that runs here, as far as the environment
// and `.env` do not give them: node scripts/run.mjs dist/commands/cli.js account:list
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { readEnvironment, RUNNING_ENVIRONMENT } from './lib/environment.mjs';
import { readJsonIfAny } from './lib/files.mjs';
import { ROOT } from './lib/paths.mjs';

/** These work on files alone. */
const WITHOUT_DATABASE = ['dist/commands/accuracy.js', 'dist/commands/models.js'];

const [file, ...args] = process.argv.slice(2);
const given = readEnvironment();
const env = given.NODE_ENV === 'production' ? given : { ...readJsonIfAny(RUNNING_ENVIRONMENT), ...given };

if (!existsSync(join(ROOT, file))) fail(`${file} is not built yet: run \`npm run build\` or \`npm start\`.`);
const needsDatabase = !WITHOUT_DATABASE.includes(file) && !args.includes('--help') && !args.includes('-h');
if (needsDatabase && !env.DATABASE_URL && !env.DATABASE_URL_FILE)
  fail('No database: set DATABASE_URL, or run `npm start` in another terminal first.');

// In this process: another one would take 0.1 s to start.
Object.assign(process.env, env);
process.argv = [process.execPath, join(ROOT, file), ...args];
await import(pathToFileURL(join(ROOT, file)).href);

function fail(message) {
  console.error(message);
  process.exit(1);
}
