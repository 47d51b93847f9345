import { serveChunks } from './children/child-side.js';
import { PocketSphinx } from './pocketsphinx.binding.js';

await serveChunks(() => new PocketSphinx());
