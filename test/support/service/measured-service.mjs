// The built service with an engine that answers at once with long transcripts. It tells its heap to the process that
// forked it, with --expose-gc.
import { setTimeout as delay } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { runService } from '../../../dist/commands/serve.js';

const WORDS = 1200;
const GCS = 4;

class LongTranscriptsModule {}
Module({})(LongTranscriptsModule);

const engine = {
  name: 'long',
  model: 'long-1',
  languages: 'any',
  defaultLanguage: 'english',
  maxChunkSeconds: 15,
  concurrency: 4,
  transcribe: async ({ pcm }) => {
    const seconds = pcm.length / 32_000 / WORDS;
    // Texts of their own for each chunk, as those of an engine are.
    const words = Array.from({ length: WORDS }, (_, i) => ({
      word: `word${Math.random().toString(36).slice(2, 8)}`,
      start: i * seconds,
      end: (i + 1) * seconds,
      confidence: 0.9,
    }));
    return { text: words.map(({ word }) => word).join(' '), confidence: 0.9, language: 'english', words };
  },
  problem: async () => null,
  close: async () => undefined,
};

async function tellHeap() {
  for (let i = 0; i < GCS; i++) {
    // Finalizers and timers of what was just done run in between.
    await delay(100);
    globalThis.gc();
  }
  process.send(process.memoryUsage().heapUsed);
}

process.on('message', () => void tellHeap());

await runService([{ module: LongTranscriptsModule, engines: [{ name: 'long', create: () => engine }] }]);
