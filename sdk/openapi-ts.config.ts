import { defineConfig } from '@hey-api/openapi-ts';

export default defineConfig({
  input: '../openapi.json',
  output: { path: 'src/api', entryFile: false },
  plugins: ['@hey-api/typescript'],
});
