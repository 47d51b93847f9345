import { setTimeout as delay } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import type { Extension } from '../../../src/extension.js';

@Module({})
class TimedEngineModule {}

/** A chunk that the engine has transcribed. The language stands for the account, which no engine is told. */
interface TimedChunk {
  language: string | null;
  seconds: number;
  startedAt: number;
  endedAt: number;
}

const BYTES_PER_SECOND = 32_000;

/** An engine that takes a known time for each second of audio, and remembers what it did. */
export function timedEngine({ msPerSecond, concurrency }: { msPerSecond: number; concurrency: number }) {
  const chunks: TimedChunk[] = [];
  const state = {
    problem: null as string | null,
    /** What else the result of a chunk waits for. */
    hold: (_language: string | null): Promise<void> | undefined => undefined,
  };
  const engine = {
    name: 'timed',
    model: 'timed-1',
    languages: 'any',
    defaultLanguage: 'english',
    maxChunkSeconds: 15,
    concurrency,
    transcribe: async ({ pcm }: { pcm: Buffer }, { language }: { language: string | null }) => {
      const startedAt = Date.now();
      const seconds = pcm.length / BYTES_PER_SECOND;
      await delay(seconds * msPerSecond);
      await state.hold(language);
      chunks.push({ language, seconds, startedAt, endedAt: Date.now() });
      return { text: 'a', confidence: 1, language: language ?? 'english', words: [] };
    },
    problem: async () => state.problem,
    close: async () => undefined,
  } as const;
  const extension: Extension = { module: TimedEngineModule, engines: [{ name: 'timed', create: () => engine }] };
  return { extension, chunks, state };
}
