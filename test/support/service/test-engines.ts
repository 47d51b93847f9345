import { setTimeout as delay } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import type { Extension } from '../../../src/extension.js';
import {
  AudioRejectedError,
  type ChunkTranscript,
  type TranscriptionEngine,
} from '../../../src/modules/transcriptions/engines/transcription-engine.js';

@Module({})
class TestEngineModule {}

const BYTES_PER_SECOND = 32_000;

type EngineOptions = Pick<TranscriptionEngine, 'transcribe'> & Partial<TranscriptionEngine>;

/** An extension with an engine that does with each chunk what the test says. */
export function engineExtension(name: string, options: EngineOptions): Extension {
  const engine: TranscriptionEngine = {
    name,
    model: `${name}-1`,
    languages: 'any',
    defaultLanguage: 'english',
    maxChunkSeconds: 15,
    concurrency: 1,
    problem: async () => null,
    close: async () => undefined,
    ...options,
  };
  return { module: TestEngineModule, engines: [{ name, create: () => engine }] };
}

const secondsOf = (pcm: Buffer): number => pcm.length / BYTES_PER_SECOND;

/** A chunk that the engine has transcribed. The language stands for the account, which no engine is told. */
interface TimedChunk {
  language: string | null;
  seconds: number;
  startedAt: number;
  endedAt: number;
}

/** An engine that takes a known time for each second of audio, and remembers what it did. */
export function timedEngine({ msPerSecond, concurrency }: { msPerSecond: number; concurrency: number }) {
  const chunks: TimedChunk[] = [];
  const state = {
    problem: null as string | null,
    /** What else the result of a chunk waits for. */
    hold: (_language: string | null): Promise<void> | undefined => undefined,
  };
  const extension = engineExtension('timed', {
    concurrency,
    problem: async () => state.problem,
    transcribe: async ({ pcm }, { language }) => {
      const startedAt = Date.now();
      const seconds = secondsOf(pcm);
      await delay(seconds * msPerSecond);
      await state.hold(language);
      chunks.push({ language, seconds, startedAt, endedAt: Date.now() });
      return { text: 'a', confidence: 1, language: language ?? 'english', words: [] };
    },
  });
  return { extension, chunks, state };
}

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
  const extension = engineExtension('scripted', {
    maxChunkSeconds: 5,
    concurrency: 8,
    transcribe: async ({ pcm, start }, { language, signal }) => {
      state.languages.push(language);
      while (start >= state.heldFrom && !signal.aborted) await released(signal);
      signal.throwIfAborted();
      if (state.failure !== null) throw new AudioRejectedError(state.failure);
      return { ...transcriptOf(`part ${Math.floor(start)} of it`, secondsOf(pcm)), language: language ?? 'english' };
    },
  });
  /** @param second Infinity: no chunk waits. */
  const holdFrom = (second: number): void => {
    state.heldFrom = second;
    for (const resolve of waiting) resolve();
    waiting.clear();
  };
  return { extension, state, holdFrom };
}

/** An engine that hears in everything what is said in go-forward-ten-meters.wav: for tests of what is done with words. */
export function sentenceEngine(): Extension {
  return engineExtension('sentence', {
    concurrency: 8,
    transcribe: async ({ pcm }, { language }) => ({
      ...transcriptOf('go forward ten meters', secondsOf(pcm)),
      language: language ?? 'english',
    }),
  });
}

/** A text whose words share the seconds. */
function transcriptOf(text: string, seconds: number): ChunkTranscript {
  const said = text.split(' ');
  const each = seconds / said.length;
  const words = said.map((word, i) => ({ word, start: i * each, end: (i + 1) * each, confidence: 0.8 }));
  return { text, confidence: 0.8, language: 'english', words };
}
