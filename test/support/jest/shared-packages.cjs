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
  'class-transformer': () => {
    const { defaultMetadataStorage } = load('class-transformer/cjs/storage');
    return () => defaultMetadataStorage.clear();
  },
};
const forgetting = [];

/** A package, evaluated once for each worker. */
function requireShared(from, name) {
  const key = from.includes('/node_modules/') ? `${from} ${name}` : name;
  let path = paths.get(key);
  if (path === undefined) paths.set(key, (path = createRequire(from).resolve(name)));
  if (!loaded.has(path)) loaded.set(path, loadNoting(name, path));
  return loaded.get(path);
}

/** What packages put into the global object when they are loaded stays there as long as they do. */
function loadNoting(name, path) {
  const before = new Set(Reflect.ownKeys(globalThis));
  const exports = load(path);
  for (const key of Reflect.ownKeys(globalThis)) if (!before.has(key)) globals.add(key);
  if (name in MEMORIES) forgetting.push(MEMORIES[name](exports));
  return exports;
}

/** Whether a package has put this into the global object. */
const isOfPackages = (key) => globals.has(key);

/** Undoes what a test file has left in packages. */
function forgetTestFile() {
  for (const forget of forgetting) forget();
}

module.exports = { requireShared, isOfPackages, forgetTestFile };
