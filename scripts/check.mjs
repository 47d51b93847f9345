// `npm run check`: everything that can be checked without a database, in about half a minute.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { report, runFastChecks } from './lib/checks.mjs';
import { cleanEnvironment } from './lib/environment.mjs';
import { prepareProject } from './lib/setup.mjs';
import { printError } from './lib/steps.mjs';

const folder = mkdtempSync(join(tmpdir(), 'voice-notes-check-'));
try {
  await prepareProject();
  process.exitCode = report(await runFastChecks(cleanEnvironment(), folder));
} catch (error) {
  printError(error);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
