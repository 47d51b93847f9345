'use strict';
// Jest evaluates all modules anew for each test file, packages included, in a context whose global object is a proxy.
// With this runtime packages come from Node's own require, once for each worker. Our modules and the test are still
// evaluated for each file. Both run in one context, so that `instanceof` holds between them.
const { isBuiltin } = require('node:module');
const { compileFunction, constants } = require('node:vm');
const { default: Runtime } = require('jest-runtime');
const { requireShared } = require('./shared-packages.cjs');

/** Their registries keep the names of classes of ours, which each test file has anew. */
const EVALUATED_FOR_EACH_FILE = /^@nestjs\/typeorm(\/|$)/;
const transforms = new Map();
const functions = new Map();

class SharedPackagesRuntime extends Runtime {
  constructor(config, environment, resolver, transformer, ...rest) {
    super(config, environment, resolver, rememberTransforms(transformer), ...rest);
    this.ourNames = config.moduleNameMapper.map(([pattern]) => new RegExp(pattern));
    const { executor } = this;
    if (typeof executor?.compile !== 'function')
      throw new Error('This version of Jest compiles modules in another way.');
    executor.compile = (source, filename) => compileOnce(source, filename, executor.injectedModuleParameters);
  }

  requireModule(from, moduleName, options, isRequireActual) {
    if (moduleName && !options?.isInternalModule && this.isShared(moduleName)) return requireShared(from, moduleName);
    return super.requireModule(from, moduleName, options, isRequireActual);
  }

  isShared(name) {
    if (/^[./]/.test(name) || isBuiltin(name) || EVALUATED_FOR_EACH_FILE.test(name)) return false;
    return !this.ourNames.some((pattern) => pattern.test(name));
  }
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

module.exports = { __esModule: true, default: SharedPackagesRuntime };
