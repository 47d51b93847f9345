// Jest runs in its CommonJS mode: swc turns our TypeScript and the ES modules of node_modules into CommonJS,
// because native ESM in Jest cannot load the CommonJS packages that require ES modules (@nestjs/throttler).
// swc does not check types: `npm run check` runs tsc over src and test.
const shared = {
  transform: {
    '^.+\\.[cm]?[jt]s$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
          target: 'es2022',
          keepClassNames: true,
        },
        module: { type: 'commonjs' },
      },
    ],
  },
  transformIgnorePatterns: ['/node_modules/.+\\.cjs$'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  testEnvironment: 'node',
};

export default {
  projects: [
    { ...shared, displayName: 'unit', testMatch: ['<rootDir>/src/**/*.spec.ts', '<rootDir>/scripts/**/*.spec.mjs'] },
    {
      ...shared,
      displayName: 'e2e',
      testMatch: ['<rootDir>/{test,examples,src}/**/*.e2e.ts'],
      setupFilesAfterEnv: ['<rootDir>/test/support/jest-setup.ts'],
      globalTeardown: '<rootDir>/test/support/jest-teardown.mjs',
    },
  ],
};
