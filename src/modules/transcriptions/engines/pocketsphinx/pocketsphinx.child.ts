import os from 'node:os';
import { serveChunks } from '../children/child-side.js';
import { PocketSphinx } from './pocketsphinx.binding.js';

/** Recognition uses every core: the API and the database on the same machine get the CPU first. */
const NICENESS = 5;

os.setPriority(NICENESS);
// A terminal's Ctrl-C or a service manager's stop reaches the whole process group. The parent finishes its chunks and
// then ends this process.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);

serveChunks(() => new PocketSphinx());
