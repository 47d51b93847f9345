// After `nest build`: makes bundles of the service and of the command lines. They use a part of what TypeORM, RxJS and
// Nest consist of, and finding, reading and compiling their 2,500 files took over half of a start
// (docs/decisions/0021-bundles.md).
import { execFileSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

import { defineConfig } from 'rolldown';

const ROOT = dirname(fileURLToPath(import.meta.url));
const DIST = join(ROOT, 'dist.next');
const BUNDLES = join(DIST, 'bundles');
/** The file below `dist` that each bundle takes the place of. */
const ENTRIES = { main: 'main.js', cli: 'commands/cli.js', migrate: 'commands/migrate.js' };

export default defineConfig({
  input: Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, join(DIST, file)])),
  platform: 'node',
  external: [
    // Native, or large and loaded only when it is needed.
    /^(koffi|sherpa-onnx-node|@aws-sdk\/client-s3)$/,
    // Parts of Nest that are not installed: it tries to load them and goes on.
    /^@nestjs\/(microservices|websockets)/,
  ],
  plugins: [entriesToRun(), filesBesideTheirModule(), oneTypeOrm(), startOfBundles()],
  output: {
    dir: BUNDLES,
    // Node lets V8 keep the compiled code of scripts, not of ES modules.
    format: 'cjs',
    // A script that V8 compiles from its cache has no `import`.
    dynamicImportInCjs: false,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    // Decorators need reflect-metadata to be evaluated before them.
    strictExecutionOrder: true,
  },
});

/** What an entry awaits becomes a function, so that the build can load a bundle without starting anything. */
function entriesToRun() {
  const entries = new Set(Object.values(ENTRIES).map((file) => join(DIST, file)));
  return {
    name: 'entries-to-run',
    transform: (code, id) => (entries.has(id) ? code.replace(/^await (.*);$/m, 'export const run = () => $1;') : null),
  };
}

/** A module that looks for a file or a package beside itself finds it from its bundle, too. */
function filesBesideTheirModule() {
  return {
    name: 'files-beside-their-module',
    transform(code, id) {
      if (!/import\.meta\.url|__dirname|__filename/.test(code)) return null;
      const dist = id.startsWith(DIST + sep) ? DIST : join(ROOT, 'dist');
      const file = relative(dist, id).split(sep).join('/');
      return code
        .replaceAll('import.meta.url', `__urlOf('${file}')`)
        .replaceAll('__filename', `__pathOf('${file}')`)
        .replaceAll('__dirname', `__pathOf('${posix.dirname(file)}')`);
    },
  };
}

/**
 * @nestjs/typeorm looks in TypeORM for two classes that version 1 no longer has, by a `require` that a bundle leaves to
 * Node: TypeORM would be loaded a second time, from its files.
 */
function oneTypeOrm() {
  return {
    name: 'one-typeorm',
    transform(code, id) {
      if (!id.endsWith('/@nestjs/typeorm/dist/common/typeorm-compat.js')) return null;
      return code.replace("require('typeorm')", '({})');
    },
  };
}

/** The files of the entries start the bundles, which V8 has compiled. */
function startOfBundles() {
  return {
    name: 'start-of-bundles',
    writeBundle() {
      const loader = join(BUNDLES, 'loader.js');
      copyFileSync(join(ROOT, 'scripts/lib/bundle-loader.mjs'), loader);
      for (const [name, file] of Object.entries(ENTRIES)) {
        const toDist = posix.relative(posix.dirname(file), '.') || '.';
        const code = `import { run } from '${toDist}/bundles/loader.js';\n\nawait run('${name}');\n`;
        writeFileSync(join(DIST, file), code);
      }
      execFileSync(process.execPath, [loader], { stdio: 'inherit' });
    },
  };
}
