import { Logger } from '@nestjs/common';
import type { Env } from '../../../platform/config/env.js';
import type { TranscriptionEngine } from './transcription-engine.js';
import type { EngineChoice } from './engine-choice.js';
import { EngineRuntimesService } from './engine-runtimes.service.js';

const ANY = { language: null, seconds: 10, faults: 0 };

describe('EngineRuntimesService', () => {
  let problems: Record<string, string | null>;
  let closed: string[];
  let logged: unknown[][];

  const engineOf = (name: string, maxChunkSeconds: number, concurrency: number): TranscriptionEngine => ({
    name,
    model: `${name}-1`,
    languages: ['english'],
    defaultLanguage: 'english',
    maxChunkSeconds,
    concurrency,
    transcribe: () => Promise.reject(new Error('not used')),
    problem: async () => problems[name] ?? null,
    close: async () => void closed.push(name),
  });

  /** @param engines name, length of a chunk in seconds, concurrency */
  function runtimesOf(megabytes: number, engines: [string, number, number][], chain: EngineChoice[] = []) {
    const definitions = engines.map(([name, ...sizes]) => ({ name, create: () => engineOf(name, ...sizes) }));
    const names = engines.map(([name]) => ({ name }));
    const env = { transcriptionMemoryMb: megabytes } as Env;
    return new EngineRuntimesService(env, { chain: chain.length > 0 ? chain : names, definitions });
  }

  beforeEach(() => {
    jest.useFakeTimers();
    problems = {};
    closed = [];
    logged = [];
    for (const level of ['log', 'warn', 'error'] as const) {
      jest
        .spyOn(Logger.prototype, level)
        .mockImplementation((...said: unknown[]) => void logged.push([level, ...said]));
    }
  });

  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  // A second of audio is 32,000 bytes. Half of an engine's share is for its slots, two chunks of the rest for a recording.
  it.each<[number, [string, number, number][], slots: number[], maxRecordings: number]>([
    [64, [['a', 10, 2]], [2], 103],
    [
      64,
      [
        ['a', 10, 2],
        ['b', 60, 2],
      ],
      [2, 2],
      16,
    ],
    [64, [['a', 120, 100]], [8], 4],
    [
      64,
      [
        ['a', 120, 100],
        ['b', 120, 100],
      ],
      [4, 4],
      4,
    ],
    [64, [['a', 600, 100]], [8], 4],
    [1, [['a', 120, 4]], [1], 1],
    [0, [['a', 10, 4]], [1], 1],
  ])('shares %s MB among the engines %j', (megabytes, engines, slots, maxRecordings) => {
    const runtimes = runtimesOf(megabytes, engines);
    expect(runtimes.all.map(({ queue }) => queue.slots)).toEqual(slots);
    expect(runtimes.maxRecordings).toBe(maxRecordings);
    expect(Math.max(...runtimes.all.map(({ maxChunkSeconds }) => maxChunkSeconds))).toBeLessThanOrEqual(120);
  });

  it('shares the engines of its chain, each once, and closes every engine', async () => {
    const runtimes = runtimesOf(
      64,
      [
        ['a', 10, 1],
        ['b', 10, 1],
        ['own', 10, 1],
      ],
      [{ name: 'b', maxSeconds: 60 }, { name: 'a' }, { name: 'b' }],
    );
    expect(runtimes.shared.map(({ engine }) => engine.name)).toEqual(['b', 'a']);
    expect(() => runtimes.runtime('gone')).toThrow('no engine gone in this process');
    await runtimes.onApplicationShutdown();
    expect(closed).toEqual(['a', 'b', 'own']);
  });

  it('takes the engine that is asked for, else those of the account, else its own', () => {
    const runtimes = runtimesOf(
      64,
      [
        ['a', 10, 1],
        ['b', 10, 1],
      ],
      [{ name: 'a' }],
    );
    const namesOf = (own: unknown, requested: string | null = null) =>
      runtimes.route(ANY, own, requested).choices.map(({ name }) => name);
    expect(namesOf(null)).toEqual(['a']);
    expect(namesOf(undefined)).toEqual(['a']);
    expect(namesOf([{ name: 'b' }])).toEqual(['b']);
    expect(namesOf([{ name: 'b' }], 'a')).toEqual(['a']);
    expect(logged).toEqual([]);
    expect(namesOf({ of: 'another release' })).toEqual(['a']);
    expect(logged).toEqual([['warn', { err: expect.any(Error) }, 'engines of an account not understood']]);
  });

  it('is ready while one shared engine works, and names what is wrong with each', async () => {
    const runtimes = runtimesOf(
      64,
      [
        ['a', 10, 1],
        ['b', 10, 1],
        ['own', 10, 1],
      ],
      [{ name: 'a' }, { name: 'b' }],
    );
    problems = { a: 'no model', own: 'no key' };
    expect(await runtimes.problem()).toBeNull();
    expect(await runtimes.degradation()).toBe('a: no model');
    problems.b = 'no quota';
    expect(await runtimes.problem()).toBe('a: no model; b: no quota');
    // Another engine counts once a recording was to have it.
    expect(await runtimes.degradation()).toBe('a: no model');
    runtimes.runtime('own').isWanted = true;
    runtimes.runtime('b').isWanted = true;
    expect(await runtimes.degradation()).toBe('a: no model; b: no quota; own: no key');
    expect(await runtimesOf(64, [['a', 10, 1]]).problem()).toBe('no model');
  });

  it('is not ready until an engine that was set aside has transcribed again, and logs that once', async () => {
    const runtimes = runtimesOf(64, [['a', 10, 1]]);
    const runtime = runtimes.runtime('a');
    runtime.setAside('no quota');
    runtime.setAside('no key');
    expect(await runtime.problem()).toBe('no key');
    jest.advanceTimersByTime(5000);
    expect([await runtime.problem(), await runtimes.problem()]).toEqual([null, 'no key']);
    runtime.succeeded();
    runtime.succeeded();
    expect(await runtimes.problem()).toBeNull();
    expect(logged).toEqual([
      ['error', { engine: 'a', cause: 'no quota' }, 'transcription engine set aside'],
      ['log', { engine: 'a' }, 'transcription engine works again'],
    ]);
  });
});
