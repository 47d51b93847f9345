import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's folder. */
export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** Everything that `npm start` keeps; `npm run reset` removes it. */
export const DATA = join(ROOT, '.data');

/** Held by the `npm start` that runs in this folder. */
export const START_LOCK = join(DATA, 'start.lock');
