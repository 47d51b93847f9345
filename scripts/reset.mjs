// `npm run reset`: removes everything that `npm start` has kept, recordings and accounts included.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { stopLeftoverApplication } from './lib/application.mjs';
import { stopLeftoverServers } from './lib/local-services.mjs';
import { acquireLock } from './lib/lock.mjs';
import { DATA, ROOT, START_LOCK } from './lib/paths.mjs';
import { systemHome } from './lib/postgres-home.mjs';

const kept = [DATA, systemHome()].filter((folder) => existsSync(folder));
if (kept.length === 0) {
  console.log('There is nothing to remove.');
  process.exit();
}

const lock = acquireLock(START_LOCK);
if (lock.holder) {
  console.error(`The service is running, started by process ${lock.holder}. Stop it first.`);
  process.exit(1);
}
// A start that was killed may have left servers behind, which would go on writing.
await stopLeftoverApplication();
await stopLeftoverServers();
for (const folder of kept) {
  rmSync(folder, { recursive: true, force: true });
  console.log(`Removed ${folder.startsWith(ROOT) ? folder.slice(join(ROOT, '/').length) : folder}`);
}
