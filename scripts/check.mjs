// `npm run check`: everything that can be checked without a database, in about half a minute.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { report, runFastChecks } from './lib/checks.mjs';
import { cleanEnvironment } from './lib/environment.mjs';

const folder = mkdtempSync(join(tmpdir(), 'voice-notes-check-'));
try {
  process.exitCode = report(await runFastChecks(cleanEnvironment(), folder));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
