import os from 'node:os';
import { fileURLToPath } from 'node:url';
import { BYTES_PER_SECOND } from '../../decoding/pcm.js';
import { ChildPool } from '../children/child-pool.js';
import type { AudioChunk, TranscribeOptions, ChunkTranscript, TranscriptionEngine } from '../transcription-engine.js';

/**
 * The built file, also when this one runs from source: Node cannot fork TypeScript, and Jest turns modules into
 * CommonJS. Five folders up is the package's root from src and from dist alike.
 */
const CHILD = new URL(
  '../../../../../dist/modules/transcriptions/engines/pocketsphinx/pocketsphinx.child.js',
  import.meta.url,
);

/** A piece takes 0.1 to 0.3 s for each of its seconds; a hundred times that is a hang. */
const LIMIT = { baseMs: 30_000, perAudioSecondMs: 10_000 };

/** CMU PocketSphinx with its US English model: works offline on any machine, and is no match for a large model. */
export class PocketSphinxEngine implements TranscriptionEngine {
  readonly name = 'pocketsphinx';
  readonly model = 'en-us';
  readonly languages = ['english'];
  readonly defaultLanguage = 'english';
  readonly maxChunkSeconds = 15;
  readonly concurrency = os.availableParallelism();
  private readonly pool = new ChildPool(fileURLToPath(CHILD), this.concurrency);

  transcribe({ pcm }: AudioChunk, { signal }: TranscribeOptions): Promise<ChunkTranscript> {
    const limitMs = LIMIT.baseMs + (pcm.length / BYTES_PER_SECOND) * LIMIT.perAudioSecondMs;
    return this.pool.recognise(pcm, limitMs, signal);
  }

  problem(): Promise<string | null> {
    return this.pool.problem();
  }

  close(): Promise<void> {
    return this.pool.close();
  }
}
