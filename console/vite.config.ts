import { fileURLToPath } from 'node:url';

import { preact } from '@preact/preset-vite';
import { defineConfig } from 'vite';

import { precompress } from './precompress.ts';
import { serviceWorker } from './service-worker/plugin.ts';

export default defineConfig({
  plugins: [preact(), serviceWorker(), precompress()],
  // The service puts a nonce in its place with every response. The same text is in src/console/console-files.service.ts.
  html: { cspNonce: '{{CSP_NONCE}}' },
  // The client library as its source: the console needs no build of it.
  resolve: { alias: { vnotes: fileURLToPath(new URL('../sdk/src/index.ts', import.meta.url)) } },
  // Relative, so that a proxy may serve the console below any path.
  base: './',
  build: {
    target: 'es2022',
    outDir: 'dist',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { input: { index: 'index.html', shared: 'shared.html' } },
  },
  server: { proxy: { '/v1': process.env.SERVICE_URL ?? 'http://127.0.0.1:3000' } },
});
