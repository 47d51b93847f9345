'use strict';
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');
const { forgetTestFile, isKept } = require('./shared-packages.cjs');

/**
 * Runs a test file in the context of the worker, where the packages and the service are. What the file leaves in the global object, in
 * `process` and in packages is removed after it.
 */
class OneContextEnvironment {
  global = globalThis;
  /** The legacy ones, which no test uses. */
  fakeTimers = null;

  constructor({ projectConfig }) {
    this.steps = [rememberGlobals(), rememberProcess(), forgetTestFile];
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    // Jest's own clock while a test replaces Date.
    const now = Date.now.bind(Date);
    Object.defineProperty(globalThis, Symbol.for('jest-native-now'), { value: now, configurable: true });
  }

  async setup() {}

  async teardown() {
    this.fakeTimersModern.dispose();
    for (const step of this.steps) step();
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  /** None of its own. */
  getVmContext() {
    return null;
  }
}

function rememberGlobals() {
  const before = Object.getOwnPropertyDescriptors(globalThis);
  return () => {
    for (const key of Reflect.ownKeys(globalThis)) {
      if (!(key in before) && !isKept(key)) Reflect.deleteProperty(globalThis, key);
    }
    for (const key of Reflect.ownKeys(before)) {
      if (before[key].configurable) Object.defineProperty(globalThis, key, before[key]);
    }
  };
}

function rememberProcess() {
  const { env, exit, getBuiltinModule } = process;
  const variables = { ...env };
  const listeners = new Map(process.eventNames().map((event) => [event, process.rawListeners(event)]));
  return () => {
    Object.assign(process, { env, exit, getBuiltinModule });
    for (const name of Object.keys(env)) if (!(name in variables)) delete env[name];
    for (const [name, value] of Object.entries(variables)) if (env[name] !== value) env[name] = value;
    for (const event of process.eventNames()) {
      const known = listeners.get(event) ?? [];
      const added = process.rawListeners(event).filter((listener) => !known.includes(listener));
      for (const listener of added) process.removeListener(event, listener);
    }
  };
}

module.exports = OneContextEnvironment;
