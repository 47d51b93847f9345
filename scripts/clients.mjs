// Makes clients in other languages from openapi.json: `npm run clients [-- LANGUAGE…] [--out FOLDER]`. Each is compiled as far
// as this machine has what that needs.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

import { goClient } from './clients/go.mjs';
import { javaClient } from './clients/java.mjs';
import { clientModel } from './clients/model.mjs';
import { pythonClient } from './clients/python.mjs';
import { localBin } from './lib/checks.mjs';
import { DATA, ROOT } from './lib/paths.mjs';
import { findCommand, run } from './lib/processes.mjs';

const OPENAPI = join(ROOT, 'openapi.json');
/** Of Debian's libjackson2-databind-java. */
const JACKSON = ['annotations', 'core', 'databind'].map((part) => `/usr/share/java/jackson-${part}.jar`);

/** How each is made, and the commands that check it: the second is needed, and where it is missing the check is left out. */
const LANGUAGES = {
  typescript: { make: makeTypescript, checks: (folder) => [[process.execPath, TSC, '-p', folder]] },
  python: {
    make: (folder) => writeFiles(folder, pythonClient(readModel())),
    checks: () => [
      ['python3', '-m', 'py_compile', 'voice_notes.py'],
      ['mypy', '--strict', '--no-error-summary', '--cache-dir', '/dev/null', 'voice_notes.py'],
    ],
  },
  go: { make: (folder) => writeFiles(folder, goClient(readModel())), checks: () => [['go', 'vet', './...']] },
  java: {
    make: (folder) => writeFiles(folder, javaClient(readModel())),
    checks: () => [
      ['javac', '-cp', JACKSON.join(':'), '-d', 'classes', 'voicenotes/Types.java', 'voicenotes/Client.java'],
    ],
    needs: JACKSON,
  },
};
const TSC = join(ROOT, 'node_modules', 'typescript-native', 'bin', 'tsc');

const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  options: { out: { type: 'string', default: join(DATA, 'clients') } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !(name in LANGUAGES));
if (unknown.length > 0) {
  console.error(`Not a language: ${unknown.join(', ')}. Use ${Object.keys(LANGUAGES).join(', ')}.`);
  process.exit(2);
}
const out = resolve(values.out);
for (const language of positionals.length > 0 ? positionals : Object.keys(LANGUAGES)) {
  const folder = join(out, language);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await LANGUAGES[language].make(folder);
  console.log(`${language}: ${folder}`);
  await checkClient(LANGUAGES[language], folder);
}

/** What is missing on this machine leaves a check out; what fails is an error. */
async function checkClient({ checks, needs = [] }, folder) {
  for (const [command, ...args] of checks(folder)) {
    const name = [command, ...args][command === process.execPath ? 1 : 0].split('/').at(-1);
    const missing = [command.includes('/') ? command : (findCommand(command) ?? ''), ...needs].findIndex(
      (path) => !existsSync(path),
    );
    if (missing !== -1) {
      console.log(`  ${name}: skipped, ${missing === 0 ? command : needs[missing - 1]} is not installed`);
      continue;
    }
    const { code, output } = await run(command, args, { cwd: folder, env: { ...process.env, GOFLAGS: '-mod=mod' } });
    console.log(`  ${name}: ${code === 0 ? 'passed' : `failed\n${output}`}`);
    if (code !== 0) process.exitCode = 1;
  }
}

async function makeTypescript(folder) {
  const plugins = ['@hey-api/typescript', '@hey-api/sdk', '@hey-api/client-fetch'];
  const input = `${folder}.json`;
  writeFileSync(input, JSON.stringify(readDocument()));
  const [command, ...args] = localBin(
    'openapi-ts',
    '--silent',
    '--no-log-file',
    '-i',
    input,
    '-o',
    folder,
    '-p',
    ...plugins,
  );
  const { code, output } = await run(command, args, { cwd: ROOT });
  rmSync(input);
  if (code !== 0) throw new Error(output);
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable'],
    types: [],
    strict: true,
    noEmit: true,
  };
  writeFiles(folder, {
    'tsconfig.json': JSON.stringify({ compilerOptions, include: ['.'] }),
    'package.json': JSON.stringify({ name: 'voice-notes-client', private: true, type: 'module' }),
  });
}

function readModel() {
  return clientModel(readDocument());
}

/** Generators know one body for each operation: of an upload it is the form with the file, not the JSON with a link. */
function readDocument() {
  const document = JSON.parse(readFileSync(OPENAPI, 'utf8'));
  for (const { requestBody } of Object.values(document.paths).flatMap(Object.values)) {
    if (requestBody?.content['multipart/form-data']) delete requestBody.content['application/json'];
  }
  return document;
}

function writeFiles(folder, files) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}
