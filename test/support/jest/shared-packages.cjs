'use strict';
const { createRequire } = require('node:module');
const { join } = require('node:path');

// Required from among the packages, where Node does not warn that it can require ES modules.
const load = createRequire(join(__dirname, '../../../node_modules/shared-packages.cjs'));
const paths = new Map();
const loaded = new Map();
const globals = new Set();

/** Packages that keep settings or classes of a test file: each returns what makes it forget them. */
const MEMORIES = {
  '@nestjs/common': ({ Logger }) => {
    const { staticInstanceRef, logLevels, isBufferAttached } = Logger;
    return () => Object.assign(Logger, { staticInstanceRef, logLevels, isBufferAttached, logBuffer: [] });
  },
};
const forgetting = [];

/** A package, evaluated once for each worker. */
function requireShared(from, name) {
  const key = from.includes('/node_modules/') ? `${from} ${name}` : name;
  let path = paths.get(key);
  if (path === undefined) paths.set(key, (path = createRequire(from).resolve(name)));
  if (loaded.has(path)) return loaded.get(path);
  const exports = keepingGlobals(() => load(path));
  loaded.set(path, exports);
  if (name in MEMORIES) forgetAfterFile(MEMORIES[name](exports));
  return exports;
}

/** What is put into the global object meanwhile stays there as long as the worker. */
function keepingGlobals(evaluate) {
  const before = new Set(Reflect.ownKeys(globalThis));
  const result = evaluate();
  for (const key of Reflect.ownKeys(globalThis)) if (!before.has(key)) globals.add(key);
  return result;
}

/** Whether this key of the global object stays after a test file. */
const isKept = (key) => globals.has(key);

/** @param {() => unknown} forget undoes what a test file has left in a module */
const forgetAfterFile = (forget) => void forgetting.push(forget);

/** Undoes what a test file has left. */
function forgetTestFile() {
  for (const forget of forgetting) forget();
}

module.exports = { requireShared, keepingGlobals, isKept, forgetAfterFile, forgetTestFile };
