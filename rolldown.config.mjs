// After `nest build`: replaces the command lines by bundles of themselves. A command uses a tenth of what TypeORM, RxJS
// and Nest consist of, and finding, reading and compiling their 1,500 files took over half of its time.
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

import { defineConfig } from 'rolldown';

const DIST = join(dirname(fileURLToPath(import.meta.url)), 'dist.next');
const COMMANDS = join(DIST, 'commands');

export default defineConfig({
  input: { cli: join(COMMANDS, 'cli.js'), migrate: join(COMMANDS, 'migrate.js') },
  platform: 'node',
  external: [
    // Native, or large and loaded only when it is needed.
    /^(koffi|sherpa-onnx-node|@aws-sdk\/client-s3)$/,
    // TypeORM loads it by a name that it computes, and there must be one of it.
    'pg',
    // Parts of Nest that are not installed: it tries to load them and goes on.
    /^@nestjs\/(microservices|websockets)/,
  ],
  plugins: [filesBesideTheirModule(), oneTypeOrm()],
  output: {
    dir: COMMANDS,
    entryFileNames: '[name].js',
    chunkFileNames: 'shared-[name]-[hash].js',
    // Decorators need reflect-metadata to be evaluated before them.
    strictExecutionOrder: true,
  },
});

/** A module of the service that reads a file beside itself finds it from `dist/commands`, too. */
function filesBesideTheirModule() {
  return {
    name: 'files-beside-their-module',
    transform(code, id) {
      if (!id.startsWith(DIST + sep) || !code.includes('import.meta.url')) return null;
      const place = relative(COMMANDS, id).split(sep).join('/');
      return code.replaceAll('import.meta.url', `new URL('${place}', import.meta.url).href`);
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
