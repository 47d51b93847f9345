'use strict';
// Jest evaluates all modules anew for each test file, packages included, in a context whose global object is a proxy.
// With this runtime packages come from Node's own require, and modules of the service are evaluated here: both once for
// each worker. Test files and what supports them are still evaluated for each file. All of it runs in one context, so
// that `instanceof` holds. With --watch and one worker a change of a module is seen after a restart.
const { isBuiltin } = require('node:module');
const { dirname, join, sep } = require('node:path');
const { compileFunction, constants } = require('node:vm');
const { default: Runtime } = require('jest-runtime');
const { forgetAfterFile, keepingGlobals, requireShared } = require('./shared-packages.cjs');

const ROOT = join(__dirname, '../../..');
const SERVICE = ['src', 'sdk/src', 'examples'].map((folder) => join(ROOT, folder) + sep);
const TESTS = /\.(spec|e2e)\.[a-z]+$/;
/** They change what modules of the service keep for the whole process: plans, and how programs can be isolated. */
const WITH_MODULES_OF_ITS_OWN = /[\\/](plans\.spec|extension-registrations\.e2e|sandbox\.(spec|e2e))\.ts$/;
/** Services with extensions add to its list. */
const EVENT_KINDS = join(ROOT, 'src/modules/webhooks/events/event-catalogue.ts');
const transforms = new Map();
const functions = new Map();
const resolved = new Map();
const modules = new Map();
/** The runtime of the test file that runs: modules that were evaluated for an earlier file require through it. */
let current;

class SharedModulesRuntime extends Runtime {
  constructor(config, environment, resolver, transformer, ...rest) {
    super(config, environment, resolver, rememberTransforms(transformer), ...rest);
    this.ourNames = config.moduleNameMapper.map(([pattern]) => new RegExp(pattern));
    const { executor } = this;
    if (typeof executor?.compile !== 'function')
      throw new Error('This version of Jest compiles modules in another way.');
    executor.compile = (source, filename) => compileOnce(source, filename, executor.injectedModuleParameters);
    this.sharesModules = !WITH_MODULES_OF_ITS_OWN.test(this._testPath);
    current = this;
  }

  requireModule(from, moduleName, options, isRequireActual) {
    if (moduleName && !options?.isInternalModule && !isBuiltin(moduleName)) {
      if (this.isPackage(moduleName)) return requireShared(from, moduleName);
      const path = this.sharesModules ? this.servicePath(from, moduleName) : null;
      if (path) return modules.get(path)?.exports ?? keepingGlobals(() => this.evaluateService(path));
    }
    return super.requireModule(from, moduleName, options, isRequireActual);
  }

  /** A test file that replaces modules evaluates those of the service for itself. */
  setMock(...args) {
    this.sharesModules = false;
    return super.setMock(...args);
  }

  isPackage(name) {
    return !/^[./]/.test(name) && !this.ourNames.some((pattern) => pattern.test(name));
  }

  servicePath(from, name) {
    const key = `${dirname(from)}\0${name}`;
    if (!resolved.has(key)) resolved.set(key, this._resolution.resolveCjs(from, name));
    const path = resolved.get(key);
    return SERVICE.some((folder) => path.startsWith(folder)) && !TESTS.test(path) ? path : null;
  }

  evaluateService(path) {
    const module = { id: path, filename: path, exports: {} };
    modules.set(path, module);
    try {
      const parameters = this.executor.injectedModuleParameters;
      const evaluate = compileOnce(this.executor.transformCache.transform(path), path, parameters);
      const require = (name) => current.requireModuleOrMock(path, name);
      // Without the `jest` object, which belongs to a test file.
      evaluate.call(module.exports, module, module.exports, require, dirname(path), path);
    } catch (error) {
      modules.delete(path);
      throw error;
    }
    if (path === EVENT_KINDS) forgetAfterFile(kindsOf(module.exports));
    return module.exports;
  }
}

/** @returns what gives the list back what it has now */
function kindsOf({ EVENT_KINDS: kinds }) {
  const before = [...kinds];
  return () => kinds.splice(0, kinds.length, ...before);
}

/** Without the keys of jest's cache on disk, which hash each file again. A file that has changed is transformed again. */
function rememberTransforms(transformer) {
  const transform = transformer.transform.bind(transformer);
  transformer.transform = (filename, options, source) => {
    if (options.collectCoverage) return transform(filename, options, source);
    const known = transforms.get(filename);
    if (known?.source === source) return known.result;
    const result = transform(filename, options, source);
    transforms.set(filename, { source, result });
    return result;
  };
  return transformer;
}

/** A call of the function evaluates the module: it is the same for each test file. */
function compileOnce(source, filename, parameters) {
  const known = functions.get(filename);
  if (known?.source === source) return known.evaluate;
  const evaluate = compileFunction(source, parameters, {
    filename,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  functions.set(filename, { source, evaluate });
  return evaluate;
}

module.exports = { __esModule: true, default: SharedModulesRuntime };
