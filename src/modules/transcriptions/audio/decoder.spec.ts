import fs from 'node:fs';
import { AudioRejectedError } from '../engines/transcription-engine.js';
import { type AudioSource, decode, ProgressWatch } from './decoder.js';

const options = { maxSeconds: 60, signal: new AbortController().signal };
const source: AudioSource = { file: '/nowhere/at/all', format: 'wav', sampleRate: 16_000, channels: 1 };

// What ffmpeg makes of real files is in test/components/engines/decoder.e2e.ts.
describe('decode', () => {
  it.each([
    ['1 Hz', { sampleRate: 1 }],
    ['0 Hz', { sampleRate: 0 }],
    ['4 GHz', { sampleRate: 4_000_000_000 }],
    ['no channel', { channels: 0 }],
    ['65535 channels', { channels: 65_535 }],
  ])('rejects a header of %s before it starts a process', async (_, claims) => {
    const error = await decode({ ...source, ...claims }, options)
      .next()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(AudioRejectedError);
  });

  it('does not suspect the audio when the file is missing', async () => {
    await expect(decode(source, options).next()).rejects.toMatchObject({ name: 'EngineError', audioSuspected: false });
  });

  it('starts nothing when already aborted', async () => {
    const signal = AbortSignal.abort(new Error('deleted'));
    await expect(decode(source, { ...options, signal }).next()).rejects.toThrow('deleted');
  });
});

describe('ProgressWatch', () => {
  let isStopped: boolean;
  /** Of the decoder and of a process that it has started, as /proc has it; null after their end. */
  let cpuSeconds: { own: number; child: number } | null;
  let watch: ProgressWatch;

  beforeEach(() => {
    jest.useFakeTimers();
    isStopped = false;
    cpuSeconds = { own: 0, child: 0 };
    // Fields 14 to 17 count in hundredths. The name may have spaces and parentheses.
    const stat = (seconds: number) =>
      `7 (a) b) S 1 1 1 0 -1 0 9 9 9 9 ${seconds * 50} ${seconds * 30} ${seconds * 15} ${seconds * 5} 20 0`;
    const files = () => ({
      '/proc/7/stat': stat(cpuSeconds?.own ?? 0),
      '/proc/7/task/7/children': '8 ',
      '/proc/8/stat': stat(cpuSeconds?.child ?? 0),
    });
    jest.spyOn(fs, 'readFileSync').mockImplementation((path) => {
      const text = cpuSeconds === null ? undefined : files()[path as keyof ReturnType<typeof files>];
      if (text === undefined) throw new Error(`no file ${String(path)}`);
      return text;
    });
    watch = new ProgressWatch(7, () => (isStopped = true));
  });

  afterEach(() => {
    watch.stop();
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const pass = (seconds: number) => jest.advanceTimersByTime(seconds * 1000);

  it('stops a decoder that has no output for a minute', () => {
    pass(60);
    expect(isStopped).toBe(false);
    pass(1);
    expect([isStopped, watch.stopReason]).toEqual([true, 'hung']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('stops a decoder, or a process that it has started, after 5 seconds of CPU time without output', () => {
    pass(1);
    cpuSeconds = { own: 2, child: 3 };
    pass(1);
    expect([isStopped, watch.cpuSeconds]).toEqual([false, 5]);
    cpuSeconds = { own: 2, child: 3.02 };
    pass(0.499);
    expect(isStopped).toBe(false);
    pass(0.001);
    expect([isStopped, watch.stopReason]).toEqual([true, 'no output']);
    cpuSeconds = null;
    pass(100);
    expect(watch.cpuSeconds).toBe(5.02);
  });

  it('counts the CPU time since the last output only, and keeps that of a process that has ended', () => {
    pass(1);
    cpuSeconds = { own: 4, child: 0 };
    pass(1);
    watch.pause();
    cpuSeconds = { own: 40, child: 0 };
    pass(1);
    watch.resume();
    pass(1);
    cpuSeconds = { own: 44, child: 0 };
    pass(1);
    expect([isStopped, watch.cpuSeconds]).toEqual([false, 44]);
    cpuSeconds = null;
    pass(1);
    expect([isStopped, watch.cpuSeconds]).toEqual([false, 44]);
    watch.stop();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('does not count the time in which the reader is busy with the output', () => {
    pass(50);
    watch.pause();
    pass(3600);
    expect(isStopped).toBe(false);
    watch.resume();
    pass(60);
    expect(isStopped).toBe(false);
    pass(1);
    expect([isStopped, watch.stopReason]).toEqual([true, 'hung']);
  });

  it('begins anew with each output, also where none is being processed when it looks', () => {
    for (let i = 0; i < 100; i++) {
      pass(1.1);
      watch.pause();
      watch.resume();
    }
    expect([isStopped, watch.stopReason]).toEqual([false, null]);
  });
});
