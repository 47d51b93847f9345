import { defineConfig } from 'tsdown';

const shared = { target: 'es2023', fixedExtension: false } as const;

export default defineConfig([
  { ...shared, entry: ['src/index.ts'], platform: 'neutral', dts: true },
  {
    ...shared,
    entry: { cli: 'src/cli/main.ts' },
    platform: 'node',
    dts: false,
    // The package has no dependencies at run time: what the command line needs is in it.
    deps: { alwaysBundle: ['commander'], onlyBundle: ['commander'] },
    outputOptions: {
      chunkFileNames: 'cli/[name]-[hash].js',
      banner: (chunk) => (chunk.isEntry ? '#!/usr/bin/env node' : ''),
    },
  },
]);
