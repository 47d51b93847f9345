import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build, type Plugin } from 'vite';

/** Of `public/`, as the page and the manifest name them. */
const FIXED = ['icon.svg', 'icon-512.png', 'manifest.webmanifest'];

/**
 * Writes `service-worker.js`: one classic script, because not every browser runs modules there. It knows the names of
 * all files of the build that the console needs without a network; the page for links of shares is none of them.
 */
export function serviceWorker(): Plugin {
  let files: string[] = [];
  let folder = '';
  return {
    name: 'service-worker',
    apply: 'build',
    configResolved: ({ root, build: { outDir } }) => {
      folder = resolve(root, outDir);
    },
    writeBundle(_, bundle) {
      files = [...FIXED, ...Object.keys(bundle).filter((name) => /^assets\/(?!shared-)/.test(name))].toSorted();
    },
    closeBundle: {
      order: 'pre',
      sequential: true,
      async handler(failure) {
        if (failure) return;
        const version = createHash('sha256').update(files.join()).digest('hex').slice(0, 16);
        await build({
          configFile: false,
          logLevel: 'warn',
          publicDir: false,
          define: { FILES: JSON.stringify(files), VERSION: JSON.stringify(version) },
          build: {
            target: 'es2022',
            outDir: folder,
            emptyOutDir: false,
            lib: {
              entry: fileURLToPath(new URL('service-worker.ts', import.meta.url)),
              formats: ['iife'],
              name: 'serviceWorker',
              fileName: () => 'service-worker.js',
            },
          },
        });
      },
    },
  };
}
