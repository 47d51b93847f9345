import { Counter } from 'prom-client';

/**
 * `no_speech`: the engine itself doubts that anybody speaks. `silence`: the words lie in a pause. `repetition`: the engine
 * was caught in a loop.
 */
export type DropReason = 'no_speech' | 'silence' | 'repetition';

/** Registered by the worker. */
export const droppedWords = new Counter({
  name: 'invented_words_dropped_total',
  help: 'Words that an engine reported where nobody said them, and that were left out, by engine and reason.',
  labelNames: ['engine', 'reason'] as const,
  registers: [],
});

export function countDropped(engine: string, reason: DropReason, words: number): void {
  if (words > 0) droppedWords.inc({ engine, reason }, words);
}

export function wordCount(text: string): number {
  return text.split(/\s+/).filter(Boolean).length;
}
