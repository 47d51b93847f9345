import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SandboxMode } from '../../../../platform/config/env.js';
import { BYTES_PER_SECOND } from '../../decoding/pcm.js';
import { ChildPool } from '../children/child-pool.js';
import type {
  AudioChunk,
  ChunkTranscript,
  EngineDefinition,
  TranscribeOptions,
  TranscriptionEngine,
} from '../transcription-engine.js';

/**
 * The built file, even when this one runs from source: Node cannot fork TypeScript, and Jest turns modules into
 * CommonJS. The package root is five folders up from both src and dist.
 */
const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url));
const DIST = path.join(ROOT, 'dist');
const CHILD = path.join(DIST, 'modules/transcriptions/engines/pocketsphinx/pocketsphinx.child.js');

/** A chunk usually takes 0.1 to 0.3 s per second of audio. A hundred times that counts as a hang. */
const LIMIT = { baseMs: 30_000, perAudioSecondMs: 10_000 };

const NAME = 'pocketsphinx';

/** CMU PocketSphinx with its US English model: works offline on any machine, but less accurately than large models. */
export class PocketSphinxEngine implements TranscriptionEngine {
  readonly name = NAME;
  readonly model = 'en-us';
  readonly languages = ['english'];
  readonly defaultLanguage = 'english';
  readonly maxChunkSeconds = 15;
  readonly concurrency = os.availableParallelism();
  private readonly pool;

  constructor(sandbox: SandboxMode = 'auto') {
    const reads = [DIST, path.join(ROOT, 'package.json'), ...packageFolders(ROOT)] as const;
    this.pool = new ChildPool({ file: CHILD, reads }, this.concurrency, sandbox);
  }

  transcribe({ pcm }: AudioChunk, { signal }: TranscribeOptions): Promise<ChunkTranscript> {
    const limitMs = LIMIT.baseMs + (pcm.length / BYTES_PER_SECOND) * LIMIT.perAudioSecondMs;
    return this.pool.transcribe(pcm, limitMs, signal);
  }

  problem(): Promise<string | null> {
    return this.pool.problem();
  }

  close(): Promise<void> {
    return this.pool.close();
  }
}

/** Every folder in which Node looks for the packages that a module in this folder imports. */
function packageFolders(folder: string): string[] {
  const parent = path.dirname(folder);
  const here = [path.join(folder, 'node_modules')].filter((candidate) => existsSync(candidate));
  return parent === folder ? here : [...here, ...packageFolders(parent)];
}

/** The fallback of `auto`: it needs no configuration. */
export const pocketSphinxEngine: EngineDefinition = {
  name: NAME,
  create: (env) => new PocketSphinxEngine(env.sandbox),
  isConfigured: () => true,
};
