import { readFileSync } from 'node:fs';

// Jest runs in its CommonJS mode: swc turns our TypeScript and the ES modules of node_modules into CommonJS,
// because native ESM in Jest cannot load the CommonJS packages that require ES modules (@nestjs/throttler).
// swc does not check types: `npm run check` runs tsc over src and test.
// The large CommonJS packages are left as they are: that halves the time of a first run.
// The same settings are in the package, for the tests of teams that extend the service.
const { testTimeout: _, ...preset } = JSON.parse(readFileSync(new URL('./jest-preset.json', import.meta.url), 'utf8'));
const shared = {
  ...preset,
  // Kept from run to run, as TMPDIR is not.
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
  // Packages are evaluated once for each worker instead of once for each test file: most of a file's time before.
  runtime: '<rootDir>/test/support/jest/shared-packages.runtime.cjs',
  testEnvironment: '<rootDir>/test/support/jest/one-context.environment.cjs',
  transformIgnorePatterns: [...preset.transformIgnorePatterns, '/node_modules/(axe-core|playwright-core)/'],
  moduleNameMapper: {
    ...preset.moduleNameMapper,
    // The client library as its source.
    '^vnotes$': '<rootDir>/sdk/src/index.ts',
    // The examples import the service as a package does.
    '^voice-note-transcription-service$': '<rootDir>/src/entries/service.ts',
    '^voice-note-transcription-service/testing$': '<rootDir>/src/entries/testing.ts',
  },
};

export default {
  testSequencer: '<rootDir>/test/support/jest/longest-first.sequencer.cjs',
  // For unit tests. A busy machine takes seconds for what takes milliseconds otherwise; e2e tests have more (jest-setup.ts).
  testTimeout: 30_000,
  projects: [
    {
      ...shared,
      displayName: 'unit',
      testMatch: ['<rootDir>/{src,sdk/src,console/src}/**/*.spec.ts', '<rootDir>/{scripts,test}/**/*.spec.mjs'],
    },
    {
      ...shared,
      displayName: 'e2e',
      testMatch: ['<rootDir>/{test,examples,src}/**/*.e2e.ts'],
      setupFilesAfterEnv: ['<rootDir>/test/support/jest-setup.ts'],
      globalTeardown: '<rootDir>/test/support/jest-teardown.mjs',
    },
  ],
};
