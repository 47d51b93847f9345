import { SileroDetector } from './silero-detector.js';
import { SileroStream, type Vad } from './silero-stream.js';

/** As sherpa-onnx does: decides on a window when it has the next one, and a window late. Loud is speech. */
class FakeVad implements Vad {
  readonly loud: boolean[] = [];
  flushed = 0;
  resets = 0;

  acceptWaveform(samples: Float32Array): void {
    expect(samples).toHaveLength(512);
    this.loud.push(samples.some((sample) => Math.abs(sample) > 0.1));
  }

  isDetected(): boolean {
    return this.loud.at(-3) ?? false;
  }

  flush(): void {
    this.flushed++;
  }

  clear(): void {}

  reset(): void {
    this.resets++;
  }
}

/** Samples with the given windows loud. */
function audio(windows: readonly boolean[], more = 0): Int16Array<ArrayBuffer> {
  return Int16Array.from({ length: windows.length * 512 + more }, (_, i) =>
    windows[Math.floor(i / 512)] ? 10_000 : 0,
  );
}

describe('SileroStream', () => {
  const WINDOWS = [false, true, true, false, false, true];

  it('decides on every window, whatever the size of the blocks', () => {
    const samples = audio(WINDOWS);
    for (const size of [100, 512, 1000, samples.length]) {
      const stream = new SileroStream(new FakeVad());
      const decided: boolean[] = [];
      for (let at = 0; at < samples.length; at += size) decided.push(...stream.detect(samples.subarray(at, at + size)));
      expect(decided).toHaveLength(WINDOWS.length - 2);
      decided.push(...stream.end());
      expect(decided.slice(0, WINDOWS.length)).toEqual(WINDOWS);
    }
  });

  it('flushes speech, which would be copied with every window', () => {
    const vad = new FakeVad();
    new SileroStream(vad).detect(audio([true, true, true, true, false]));
    expect(vad.flushed).toBeGreaterThan(1);
  });

  it('asks the model about a second of zeros, and then only when there is sound again', () => {
    const vad = new FakeVad();
    const windows = [true, true, ...Array<boolean>(500).fill(false), true, false, false, true];
    const stream = new SileroStream(vad);
    const decided = [...stream.detect(audio(windows)), ...stream.end()];
    expect(decided.slice(0, windows.length)).toEqual(windows);
    expect(vad.loud).toHaveLength(2 + 32 + 4 + 3);
  });

  it('takes the faintest sound for sound', () => {
    const vad = new FakeVad();
    new SileroStream(vad).detect(new Int16Array(100 * 512).map((_, i) => (i % 512 === 511 ? -1 : 0)));
    expect(vad.loud).toHaveLength(100);
  });

  it('resets the detector for the next recording', () => {
    const vad = new FakeVad();
    expect(new SileroStream(vad).release()).toBe(vad);
    expect(vad.resets).toBe(1);
  });
});

describe('SileroDetector', () => {
  const open = (): SileroDetector => {
    const stream = new SileroStream(new FakeVad());
    const detect = (_: number, pcm: Int16Array, last: boolean) =>
      Promise.resolve([...stream.detect(pcm), ...(last ? stream.end() : [])]);
    return new SileroDetector({ detect, release: () => undefined }, 0);
  };

  it('answers every frame once, in order', async () => {
    // 0.96 s: 30 windows, 96 frames.
    const windows = Array.from({ length: 30 }, (_, index) => index >= 10 && index < 20);
    const pcm = Buffer.from(audio(windows).buffer);
    for (const frames of [1, 7, 96]) {
      const detector = open();
      const flags: boolean[] = [];
      for (let at = 0; at < pcm.length; at += frames * 320)
        flags.push(...(await detector.detect(pcm.subarray(at, at + frames * 320))));
      flags.push(...(await detector.end()));
      expect(flags).toHaveLength(96);
      expect(flags.indexOf(true)).toBeGreaterThanOrEqual(32);
      expect(flags.indexOf(true)).toBeLessThanOrEqual(35);
      expect(flags.filter(Boolean)).toHaveLength(32);
    }
  });

  it('has nothing to say about no audio', async () => {
    const detector = open();
    expect([...(await detector.detect(Buffer.alloc(0))), ...(await detector.end())]).toEqual([]);
  });
});
