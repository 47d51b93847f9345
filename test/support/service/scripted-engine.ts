import { Module } from '@nestjs/common';
import type { Extension } from '../../../src/extension.js';
import {
  type AudioChunk,
  AudioRejectedError,
  type TranscribeOptions,
  type TranscriptionEngine,
} from '../../../src/modules/transcriptions/engines/transcription-engine.js';

@Module({})
class ScriptedEngineModule {}

const BYTES_PER_SECOND = 32_000;

/** What a test decides about the engine. */
interface EngineState {
  /** Chunks from this second of a recording on wait until it is raised. */
  heldFrom: number;
  /** Why the next recordings fail; null: they do not. */
  failure: string | null;
  /** Languages that were asked for. */
  languages: (string | null)[];
}

/** An engine that says at once what a chunk's place is (`part 0 of it`), unless it is held or told to fail. */
export function scriptedEngine() {
  const state: EngineState = { heldFrom: Infinity, failure: null, languages: [] };
  const waiting = new Set<() => void>();
  const released = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      waiting.add(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });

  async function transcribe({ pcm, start }: AudioChunk, { language, signal }: TranscribeOptions) {
    state.languages.push(language);
    while (start >= state.heldFrom && !signal.aborted) await released(signal);
    signal.throwIfAborted();
    if (state.failure !== null) throw new AudioRejectedError(state.failure);
    const said = ['part', String(Math.floor(start)), 'of', 'it'];
    const seconds = pcm.length / BYTES_PER_SECOND / said.length;
    const words = said.map((word, i) => ({ word, start: i * seconds, end: (i + 1) * seconds, confidence: 0.8 }));
    return { text: said.join(' '), confidence: 0.8, language: language ?? 'english', words };
  }

  const engine: TranscriptionEngine = {
    name: 'scripted',
    model: 'scripted-1',
    languages: 'any',
    defaultLanguage: 'english',
    maxChunkSeconds: 5,
    concurrency: 8,
    transcribe,
    problem: async () => null,
    close: async () => undefined,
  };
  const extension: Extension = {
    module: ScriptedEngineModule,
    engines: [{ name: 'scripted', create: () => engine }],
  };
  /** @param second Infinity: no chunk waits. */
  const holdFrom = (second: number): void => {
    state.heldFrom = second;
    for (const resolve of waiting) resolve();
    waiting.clear();
  };
  return { extension, state, holdFrom };
}
