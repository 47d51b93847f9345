// Fails when openapi.json breaks clients of the last release and CHANGELOG.md does not say so under `### Breaking`, or when it
// has an operation that CHANGELOG.md does not name. A step of `npm run check`. With --release, what is compared from then on
// is the description of now.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { apiChanges, describedApi, missingInChangelog } from './lib/api-changes.mjs';
import { ROOT } from './lib/paths.mjs';

/** A file and no tag: clones and archives may have no tags. */
const RELEASED = join(ROOT, 'scripts', 'released-api.json');

const present = readFileSync(join(ROOT, 'openapi.json'), 'utf8');
if (process.argv.includes('--release')) {
  writeFileSync(RELEASED, describedApi(present));
} else {
  const changes = apiChanges(JSON.parse(readFileSync(RELEASED, 'utf8')), JSON.parse(present));
  const missing = missingInChangelog(changes, readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'));
  console.log(`${changes.added.length} new operations, ${changes.breaks.length} breaks since the last release`);
  for (const line of missing) console.error(line);
  process.exitCode = missing.length === 0 ? 0 : 1;
}
