// Fails when openapi.json is not the description of the built service, breaks a rule for generators of clients, or the types
// of the client library are not those of openapi.json. A step of `npm run check`.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ruleViolations } from './lib/api-rules.mjs';
import { localBin } from './lib/checks.mjs';
import { ROOT } from './lib/paths.mjs';
import { run } from './lib/processes.mjs';

const SDK = join(ROOT, 'sdk');
const TYPES = 'types.gen.ts';

const problem = (await problemOfDescription()) ?? problemOfRules() ?? (await problemOfTypes());
if (problem !== null) {
  console.error(problem);
  process.exitCode = 1;
}

async function problemOfDescription() {
  const { code, stdout, output } = await run(process.execPath, ['dist/commands/openapi.js'], { cwd: ROOT });
  if (code !== 0) return output;
  const isCurrent = stdout === readFileSync(join(ROOT, 'openapi.json'), 'utf8');
  return isCurrent ? null : 'openapi.json is out of date. Run: npm run build && npm run openapi';
}

function problemOfRules() {
  const violations = ruleViolations(JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')));
  return violations.length === 0 ? null : violations.join('\n');
}

async function problemOfTypes() {
  const folder = mkdtempSync(join(tmpdir(), 'voice-notes-types-'));
  try {
    const [command, ...args] = localBin('openapi-ts', '--silent', '--no-log-file', '--output', folder);
    const { code, output } = await run(command, args, { cwd: SDK });
    if (code !== 0) return output;
    const isCurrent = readFileSync(join(folder, TYPES), 'utf8') === readFileSync(join(SDK, 'src/api', TYPES), 'utf8');
    return isCurrent ? null : `sdk/src/api/${TYPES} is out of date. Run: npm run build && npm run openapi`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
