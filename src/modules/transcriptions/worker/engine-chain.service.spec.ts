import { Logger } from '@nestjs/common';
import { Registry } from 'prom-client';
import type { Env } from '../../../platform/config/env.js';
import type { EngineChoice } from '../engines/engine-choice.js';
import { EngineFailureError, NoEngineError } from '../engines/engine-failures.js';
import { type EngineRuntime, EngineRuntimesService } from '../engines/engine-runtimes.service.js';
import {
  AudioRejectedError,
  EngineError,
  EngineUnavailableError,
  type TranscriptionEngine,
} from '../engines/transcription-engine.js';
import { type ChainInput, EngineChainService } from './engine-chain.service.js';
import type { AudioInput, TranscriberService } from './transcriber.service.js';

const RECORDING = { accountId: 'account', accountEngines: null, language: null, durationMs: 2000, faults: 0 };
const RESULT = { text: 'heard', durationSeconds: 4 };

describe('EngineChainService', () => {
  /** What each engine does with the next recordings: null for a transcript. */
  let failures: Record<string, Error | null>;
  /** What each engine says of itself, and how often it was asked. */
  let problems: Record<string, string | null>;
  let asked: string[];
  let tried: string[];
  /** The length that each of them was to transcribe at most. */
  let limits: (number | undefined)[];
  let told: unknown[];
  let runtimes: EngineRuntimesService;
  let chain: EngineChainService;
  let registry: Registry;
  let going: AbortController;

  const engineOf = (name: string): TranscriptionEngine => ({
    name,
    model: `${name}-1`,
    languages: name === 'english' ? ['english'] : 'any',
    defaultLanguage: 'english',
    maxChunkSeconds: 10,
    concurrency: 2,
    transcribe: () => Promise.reject(new Error('not used')),
    problem: async () => {
      asked.push(name);
      return problems[name] ?? null;
    },
    close: async () => undefined,
  });

  function useChain(...choices: EngineChoice[]): void {
    const definitions = ['first', 'second', 'english'].map((name) => ({ name, create: () => engineOf(name) }));
    const env = { transcriptionMemoryMb: 64, sandbox: 'off' } as Env;
    runtimes = new EngineRuntimesService(env, { chain: choices, definitions });
    const transcriber = {
      transcribe: async (input: AudioInput, runtime: EngineRuntime) => {
        const { engine } = runtime;
        tried.push(engine.name);
        limits.push(input.maxSeconds);
        input.onText?.({ offset: 0, text: 'heard' });
        const failure = failures[engine.name];
        if (failure) throw new EngineFailureError(failure);
        runtime.succeeded();
        return RESULT;
      },
    } as unknown as TranscriberService;
    registry = new Registry();
    chain = new EngineChainService(runtimes, transcriber, env, registry);
  }

  beforeAll(() => Logger.overrideLogger(false));
  afterAll(() => Logger.overrideLogger(true));

  beforeEach(() => {
    jest.useFakeTimers();
    failures = {};
    problems = {};
    asked = [];
    tried = [];
    limits = [];
    told = [];
    going = new AbortController();
    useChain({ name: 'first' }, { name: 'second' });
  });

  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const input = (): ChainInput =>
    ({ signal: going.signal, onText: (...said: unknown[]) => void told.push(said) }) as unknown as ChainInput;
  const transcribe = async (recording: Partial<typeof RECORDING> = {}, requested: string | null = null) =>
    await chain.transcribe(await chain.candidatesFor({ ...RECORDING, ...recording }, requested), input());

  it('uses the first engine, names it, and does not start the others', async () => {
    expect(await transcribe()).toEqual({ ...RESULT, provider: 'first', model: 'first-1' });
    expect([tried, asked]).toEqual([['first'], ['first']]);
  });

  it('measures how long each engine takes for a second of audio', async () => {
    failures.first = new EngineUnavailableError('no quota');
    jest.spyOn(performance, 'now').mockImplementation(() => tried.length * 1500);
    await transcribe();
    const said = (await registry.metrics()).split('\n');
    expect(said).toContain('transcription_audio_seconds_total{engine="second"} 4');
    expect(said).toContain('transcription_processing_seconds_total{engine="second"} 1.5');
    expect(said).toContain('transcription_real_time_factor_bucket{le="0.35",engine="second"} 0');
    expect(said).toContain('transcription_real_time_factor_bucket{le="0.5",engine="second"} 1');
    expect(said.filter((line) => line.includes('_seconds_total{engine="first"}'))).toEqual([]);
  });

  it.each([
    ['refuses all work', new EngineUnavailableError('no quota')],
    ['fails without the audio being the cause', new EngineError('answered 500', false)],
    ['refuses the audio', new AudioRejectedError('The server does not know the language')],
  ])('goes on with the next engine when one %s, and counts that', async (_, failure) => {
    failures.first = failure;
    expect(await transcribe()).toMatchObject({ provider: 'second' });
    expect(tried).toEqual(['first', 'second']);
    expect(await registry.metrics()).toContain('transcription_engine_failures_total{engine="first"} 1');
    expect(await registry.metrics()).toContain('transcription_fallbacks_total{engine="second"} 1');
  });

  it('leaves a crash to the next attempt, on the same engine first', async () => {
    failures.first = new EngineError('the process was lost', true);
    await expect(transcribe()).rejects.toBe(failures.first);
    expect(tried).toEqual(['first']);
    expect(await transcribe({ faults: 2 })).toMatchObject({ provider: 'second' });
  });

  it('sets an engine aside that works for nobody, for longer each time, and tries it with one recording', async () => {
    failures.first = new EngineUnavailableError('no quota');
    for (const seconds of [5, 5, 10, 20]) {
      tried = [];
      await Promise.all([transcribe(), transcribe()]);
      expect(tried.filter((name) => name === 'second')).toHaveLength(2);
      expect(tried).toContain('first');
      tried = [];
      jest.advanceTimersByTime(seconds * 1000 - 1);
      await transcribe();
      expect(tried).toEqual(['second']);
      jest.advanceTimersByTime(1);
    }
    expect(await runtimes.degradation()).toBe('first: no quota');
    expect(await runtimes.problem()).toBeNull();
    failures.first = null;
    expect(await transcribe()).toMatchObject({ provider: 'first' });
    expect(await runtimes.degradation()).toBeNull();
  });

  it('gives a second recording to the next engine while a first one tries whether the engine works again', async () => {
    failures.first = new EngineUnavailableError('no quota');
    await transcribe();
    jest.advanceTimersByTime(5000);
    const runtime = runtimes.runtime('first');
    let end = (): void => undefined;
    const trial = runtime.breaker.try(() => new Promise<void>((resolve) => (end = resolve)));
    expect(await transcribe()).toMatchObject({ provider: 'second' });
    end();
    await trial;
    failures.first = null;
    expect(await transcribe()).toMatchObject({ provider: 'first' });
  });

  it('waits when no engine works, until the first of them is tried again', async () => {
    failures = { first: new EngineUnavailableError('no quota'), second: new EngineUnavailableError('no key') };
    const tries = transcribe();
    await expect(tries).rejects.toBeInstanceOf(NoEngineError);
    await expect(tries).rejects.toMatchObject({
      wasTried: true,
      waitSeconds: 5,
      message: 'first: no quota; second: no key',
    });
    await expect(transcribe()).rejects.toMatchObject({ wasTried: false, waitSeconds: 5 });
    expect(chain.postponements.current).toMatchObject([{ accountId: 'account', spoken: null, minDurationMs: 0 }]);
    expect(await runtimes.problem()).toBe('first: no quota; second: no key');
    jest.advanceTimersByTime(5000);
    expect(chain.postponements.current).toEqual([]);
  });

  it('waits for an engine that is set aside rather than fail what the other refuses', async () => {
    problems.first = 'connection refused';
    failures.second = new AudioRejectedError('too large');
    await expect(transcribe()).rejects.toMatchObject({ wasTried: true, message: 'first: connection refused' });
    problems.first = null;
    failures.first = new AudioRejectedError('too loud');
    await expect(transcribe()).rejects.toBe(failures.second);
  });

  it('uses the engines of the account alone, and postpones only what they cannot take', async () => {
    problems.second = 'connection refused';
    const accountEngines = [{ name: 'english', max_seconds: 60 }, { name: 'second' }] as never;
    expect(await transcribe({ accountEngines })).toMatchObject({ provider: 'english' });
    await expect(transcribe({ accountEngines, durationMs: 61_000 })).rejects.toMatchObject({ wasTried: false });
    expect(chain.postponements.current).toMatchObject([{ spoken: null, minDurationMs: 61_000 }]);
    await expect(chain.candidatesFor({ ...RECORDING, accountEngines: [{ name: 'gone' }] })).rejects.toThrow(
      'gone: not configured in this process',
    );
  });

  it('uses the requested engine alone, and postpones nothing for it', async () => {
    expect(await transcribe({}, 'second')).toMatchObject({ provider: 'second' });
    problems.second = 'connection refused';
    expect(await runtimes.degradation()).toBe('second: connection refused');
    await expect(transcribe({}, 'second')).rejects.toMatchObject({ wasTried: true });
    expect(chain.postponements.current).toEqual([]);
  });

  it('ends at once when the recording is taken away', async () => {
    failures.first = new EngineUnavailableError('aborted');
    going.abort();
    await expect(transcribe()).rejects.toBeInstanceOf(EngineFailureError);
    expect(tried).toEqual(['first']);
  });

  it('tells each engine its greatest length, and whose text it is', async () => {
    useChain({ name: 'first', maxSeconds: 60 }, { name: 'second' });
    failures.first = new EngineUnavailableError('no quota');
    const warn = jest.spyOn(Logger.prototype, 'warn');
    await transcribe();
    expect(limits).toEqual([60, undefined]);
    const piece = { offset: 0, text: 'heard' };
    expect(told).toMatchObject([
      [piece, { name: 'first', model: 'first-1' }],
      [piece, { name: 'second', model: 'second-1' }],
    ]);
    const said = [{ err: failures.first, engine: 'second' }, 'transcription goes on with another engine'];
    expect(warn.mock.calls).toEqual([said]);
  });

  it('gives a recording to the engine that another one tries when no other works', async () => {
    failures = { first: new EngineUnavailableError('no quota'), second: new EngineUnavailableError('no key') };
    await expect(transcribe()).rejects.toBeInstanceOf(NoEngineError);
    jest.advanceTimersByTime(5000);
    const ends: (() => void)[] = [];
    const hold = () => new Promise<void>((resolve) => void ends.push(resolve));
    const trials = ['first', 'second'].map((name) => runtimes.runtime(name).breaker.try(hold));
    const { inOrder, problems: said } = await chain.candidatesFor(RECORDING);
    expect(inOrder.map(({ choice }) => choice.name)).toEqual(['first']);
    expect(said).toEqual(['first: another recording tries it', 'second: another recording tries it']);
    for (const end of ends) end();
    await Promise.all(trials);
  });

  it('sets an engine aside that fails while it says itself that it cannot work', async () => {
    failures.first = new EngineError('answered 500', false);
    await transcribe();
    expect(await runtimes.degradation()).toBeNull();
    jest.spyOn(runtimes.runtime('first').engine, 'problem').mockResolvedValueOnce(null).mockResolvedValue('is down');
    await transcribe();
    expect(runtimes.runtime('first').breaker.cause).toBe('answered 500');
  });

  it('waits 5 s for what an engine says itself, 60 s for one of another process, and the shortest of all waits', async () => {
    const waitOf = async (recording: object, requested: string | null = null) =>
      await chain.candidatesFor({ ...RECORDING, ...recording }, requested).catch((error: unknown) => error);
    problems = { first: 'is down', second: 'is down' };
    expect(await waitOf({})).toMatchObject({
      waitSeconds: 5,
      wasTried: false,
      message: 'first: is down; second: is down',
    });
    const warn = jest.spyOn(Logger.prototype, 'warn');
    expect(warn).not.toHaveBeenCalled();
    expect(await waitOf({ accountEngines: [{ name: 'gone' }] })).toMatchObject({ waitSeconds: 60, wasTried: false });
    expect(await waitOf({}, 'gone')).toMatchObject({ waitSeconds: 60, wasTried: true });
    const fields = { account_id: 'account', engines: ['gone'] };
    expect(warn.mock.calls[0]).toEqual([fields, 'engines not configured here']);
    runtimes.runtime('first').setAside('no quota');
    jest.advanceTimersByTime(3000);
    runtimes.runtime('second').setAside('no key');
    expect(await waitOf({})).toMatchObject({ waitSeconds: 2 });
  });

  it('waits for the engine of the chain that is tried first again, with what went wrong at each', async () => {
    failures = { first: new EngineError('answered 500', false), second: new EngineUnavailableError('no key') };
    const tries = transcribe();
    await expect(tries).rejects.toMatchObject({ wasTried: true, waitSeconds: 5, message: 'second: no key' });
    jest.advanceTimersByTime(2000);
    await expect(transcribe()).rejects.toMatchObject({ waitSeconds: 3, message: 'second: no key' });
    failures.second = new EngineError('answered 501', false);
    jest.advanceTimersByTime(3000);
    await expect(transcribe()).rejects.toBe(failures.second);
  });

  it('compares the length of the recording in seconds, if it is known', async () => {
    useChain({ name: 'first', maxSeconds: 1 }, { name: 'second' });
    for (const durationMs of [1000, 1001, 0]) await transcribe({ durationMs });
    expect(tried).toEqual(['first', 'second', 'first']);
  });

  it('checks each further engine when its turn comes, and lists the problems in order', async () => {
    failures.first = new EngineUnavailableError('no quota');
    const candidates = await chain.candidatesFor(RECORDING);
    problems.second = 'no key';
    const failure = { message: 'first: no quota; second: no key', waitSeconds: 5, wasTried: true };
    await expect(chain.transcribe(candidates, input())).rejects.toMatchObject(failure);
    expect(tried).toEqual(['first']);
  });

  it('checks a single engine again after 5 s, and rethrows an error that is not of an engine', async () => {
    failures.first = new TypeError('a defect');
    await expect(transcribe()).rejects.toBe(failures.first);
    useChain({ name: 'first' });
    problems.first = 'no key';
    await expect(chain.candidatesFor(RECORDING)).rejects.toMatchObject({ message: 'first: no key', waitSeconds: 5 });
  });
});
