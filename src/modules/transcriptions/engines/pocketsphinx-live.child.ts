import { LIVE_NICENESS, serveChunks } from './children/child-side.js';
import { PocketSphinx } from './pocketsphinx.binding.js';

await serveChunks(() => {
  const recogniser = new PocketSphinx();
  return {
    transcribe: (pcm, { live = { isNew: true, ends: true } }) => recogniser.transcribePart(pcm, live),
  };
}, LIVE_NICENESS);
