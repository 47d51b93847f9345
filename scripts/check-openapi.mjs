// Fails when openapi.json is not the description of the built service. A step of `npm run check`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT } from './lib/paths.mjs';
import { run } from './lib/processes.mjs';

const { code, stdout, output } = await run(process.execPath, ['dist/commands/openapi.js'], { cwd: ROOT });
if (code !== 0) {
  console.error(output);
  process.exitCode = 1;
} else if (stdout !== readFileSync(join(ROOT, 'openapi.json'), 'utf8')) {
  console.error('openapi.json is out of date. Run: npm run build && npm run openapi');
  process.exitCode = 1;
}
