import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../scripts/lib/paths.mjs';

/** Of a module below `dist`, static or not. */
const IMPORT = /\{ ([\w, ]+) \} (?:from|= await import\()\s*'[./]+\/dist\/([\w./-]+)\.js'/g;

const programs = readdirSync(join(ROOT, 'test'), { recursive: true }).filter((name) => name.endsWith('.mjs'));
const imports = programs.flatMap((program) =>
  [...readFileSync(join(ROOT, 'test', program), 'utf8').matchAll(IMPORT)].map(([, names, module]) => ({
    program,
    module: `src/${module}.ts`,
    names: names.split(', '),
  })),
);

// They run on the build, of which no type is checked, and seldom.
test.each(imports)('$module has what $program imports of its build: $names', ({ module, names }) => {
  const source = readFileSync(join(ROOT, module), 'utf8');
  const missing = names.filter((name) => !new RegExp(`^export .*\\b${name}\\b`, 'm').test(source));
  expect(missing).toEqual([]);
});
