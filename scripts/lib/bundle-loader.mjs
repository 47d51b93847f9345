// The build copies this file to dist/bundles. It runs the bundles beside it with the code that V8 made of them at build
// time: to parse and compile them would take more than half of a start. Node has no such cache for ES modules before 22.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

const FOLDER = new URL('./', import.meta.url);
const isBuild = process.argv[1] === fileURLToPath(import.meta.url);

/** By file name. */
const modules = new Map();
const scripts = new Map();

/** Where a module of a bundle was before it was bundled. @param {string} place relative to `dist` */
const urlOf = (place) => new URL(`../${place}`, FOLDER).href;
const pathOf = (place) => fileURLToPath(urlOf(place));

const requirePackage = createRequire(import.meta.url);
const requireFrom = (name) => (name.startsWith('./') ? load(name.slice(2)) : requirePackage(name));

/** @param {string} name of an entry of rolldown.config.mjs */
export const run = (name) => load(`${name}.cjs`).run();

function load(file) {
  const known = modules.get(file);
  if (known) return known.exports;
  const module = { exports: {} };
  modules.set(file, module);
  const script = readScript(file);
  if (isBuild) scripts.set(file, script);
  script.runInThisContext()(requireFrom, module, module.exports, urlOf, pathOf);
  return module.exports;
}

export function readScript(file) {
  const source = readFileSync(new URL(file, FOLDER), 'utf8');
  // V8 ignores what another version of it has compiled.
  const cachedData = isBuild ? undefined : readFileIfAny(cacheOf(file));
  // Relative, because V8 takes the name from the compiled code, and the build moves the folder.
  const filename = `dist/bundles/${file}`;
  return new Script(`(function (require, module, exports, __urlOf, __pathOf) {${source}\n})`, { filename, cachedData });
}

function cacheOf(file) {
  return new URL(`${file}.cache`, FOLDER);
}

function readFileIfAny(url) {
  try {
    return readFileSync(url);
  } catch {
    return undefined;
  }
}

if (isBuild) {
  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.cjs'))) load(file);
  // Only now, because a function is compiled when it is first called.
  for (const [file, script] of scripts) writeFileSync(cacheOf(file), script.createCachedData());
}
