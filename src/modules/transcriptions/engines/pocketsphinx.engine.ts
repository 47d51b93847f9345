import os from 'node:os';
import type { SandboxMode } from '../../../platform/config/env.js';
import { POCKETSPHINX_EN_US } from './calibration.js';
import { BYTES_PER_SECOND } from '../audio/pcm.js';
import { ChildPool } from './children/child-pool.js';
import { CHILD_READS, childFile } from './children/engine-child.js';
import type {
  AudioChunk,
  ChunkTranscript,
  EngineDefinition,
  TranscribeOptions,
  TranscriptionEngine,
} from './transcription-engine.js';

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
  readonly calibration = POCKETSPHINX_EN_US;
  private readonly pool;

  constructor(sandbox: SandboxMode = 'auto') {
    const module = { file: childFile('engines/pocketsphinx'), reads: CHILD_READS };
    this.pool = new ChildPool(module, this.concurrency, sandbox);
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

/** The fallback of `auto`: it needs no configuration. */
export const pocketSphinxEngine: EngineDefinition = {
  name: NAME,
  create: (env) => new PocketSphinxEngine(env.sandbox),
  isConfigured: () => true,
};
