import {
  EnergyDetector,
  FallbackDetector,
  FRAME_BYTES,
  FRAME_SAMPLES,
  type SpeechDetector,
} from './speech-detector.js';

const FULL_SCALE = 32_768;

/** Levels in dB of full scale, one a frame: an alternating signal, whose level does not depend on where it is cut. */
function framesAt(...levels: readonly number[]): Buffer {
  const pcm = Buffer.alloc(levels.length * FRAME_BYTES);
  levels.forEach((level, frame) => {
    // The filter makes the fastest change 2 / (1 + 0.96) times as large.
    const peak = (10 ** (level / 20) * FULL_SCALE * 1.96) / 2;
    for (let i = 0; i < FRAME_SAMPLES; i++)
      pcm.writeInt16LE(Math.round(i % 2 === 0 ? peak : -peak), frame * FRAME_BYTES + 2 * i);
  });
  return pcm;
}

const times = (count: number, level: number): number[] => Array.from({ length: count }, () => level);

/** Which frames are speech, as `from–to` of each run. */
function runs(flags: readonly boolean[]): string[] {
  const text = flags.map((flag) => (flag ? '#' : '.')).join('');
  return [...text.matchAll(/#+/g)].map(({ 0: run, index }) => `${index}–${index + run.length - 1}`);
}

const detect = (...levels: number[]): string[] => runs(new EnergyDetector().detect(framesAt(...levels)));

describe('EnergyDetector', () => {
  it.each([
    [8.5, []],
    [9.5, ['50–69']],
  ])('takes a sound %s dB above the noise: %j', (above, expected) => {
    expect(detect(...times(50, -50), ...times(20, -50 + above), ...times(30, -50))).toEqual(expected);
  });

  it.each([
    [40.5, ['50–69']],
    [39.5, ['50–69', '80–89']],
  ])('takes a sound %s dB below the loudest for speech: %j', (below, expected) => {
    const levels = [
      ...times(50, -65),
      ...times(20, -10),
      ...times(10, -65),
      ...times(10, -10 - below),
      ...times(10, -65),
    ];
    expect(detect(...levels)).toEqual(expected);
  });

  it.each([
    [-71, []],
    [-68, ['10–19']],
  ])('takes a sound of %s dB alone: %j', (level, expected) => {
    expect(detect(...times(10, -120), ...times(10, level), ...times(10, -120))).toEqual(expected);
  });

  it.each([
    [3, []],
    [4, ['20–23']],
  ])('takes a sound of %s frames: %j', (length, expected) => {
    expect(detect(...times(20, -60), ...times(length, -10), ...times(20, -60))).toEqual(expected);
  });

  it('takes a short sound at the start and at the end of a block like one in the middle', () => {
    expect(detect(...times(4, -10), ...times(20, -60), ...times(3, -10))).toEqual(['0–3']);
    expect(detect(...times(3, -10), ...times(20, -60), ...times(4, -10))).toEqual(['23–26']);
  });

  it('takes the level that a tenth of the frames do not reach for the noise', () => {
    const speech = (quiet: number): string[] => detect(...times(quiet, -50), ...times(101 - quiet, -20));
    expect(speech(10)).toEqual([]);
    expect(speech(11)).toEqual(['11–100']);
  });

  it('leaves a fiftieth of the frames out of account for the loudest', () => {
    const speech = (loud: number): string[] => detect(...times(50, -65), ...times(51 - loud, -45), ...times(loud, -2));
    expect(speech(2)).toEqual(['50–100']);
    expect(speech(3)).toEqual([]);
  });

  it('remembers the levels of the last 20 s', () => {
    const noise = (seconds: number): Buffer => framesAt(...times(Math.round(seconds * 100), -30));
    const first = (quietBefore: number, seconds: number): string[] => {
      const detector = new EnergyDetector();
      detector.detect(framesAt(...times(quietBefore, -60)));
      return runs(detector.detect(noise(seconds)));
    };
    expect(first(300, 17)).toEqual(['0–1699']);
    expect(first(300, 18)).toEqual(['0–1799']);
    expect(first(300, 18.01)).toEqual([]);
    expect(first(100, 25)).toEqual([]);
  });

  it('adapts from block to block: what was speech is noise when it goes on', () => {
    const detector = new EnergyDetector();
    const blocks = [times(500, -60), ...Array.from({ length: 5 }, () => times(500, -30))];
    const flags = blocks.map((levels) => runs(detector.detect(framesAt(...levels))));
    expect(flags).toEqual([[], ['0–499'], ['0–499'], ['0–499'], [], []]);
  });

  it('ignores a constant offset and a low rumble', () => {
    const rumble = Buffer.alloc(100 * FRAME_BYTES);
    for (let i = 0; i < rumble.length / 2; i++)
      rumble.writeInt16LE(i < 8000 ? 0 : Math.round(10_000 + 30 * Math.sin((2 * Math.PI * 20 * i) / 16_000)), 2 * i);
    expect(new EnergyDetector().detect(rumble).lastIndexOf(true)).toBeLessThan(57);
  });

  it('filters on from one block to the next', () => {
    const detector = new EnergyDetector();
    const constant = Buffer.alloc(20 * FRAME_BYTES);
    for (let i = 0; i < constant.length / 2; i++) constant.writeInt16LE(20_000, 2 * i);
    detector.detect(constant);
    expect(runs(detector.detect(constant))).toEqual([]);
  });

  it('answers whole frames, keeps none back, and cannot tell voices from other sounds', () => {
    const detector = new EnergyDetector();
    expect(detector.detect(Buffer.alloc(3 * FRAME_BYTES + 100))).toEqual([false, false, false]);
    expect(detector.detect(Buffer.alloc(0))).toEqual([]);
    expect([detector.end(), detector.knowsVoices]).toEqual([[], false]);
    detector.close();
  });
});

/** Answers all frames but the last five of each block, until it breaks. */
class FragileDetector implements SpeechDetector {
  readonly knowsVoices = true;
  broken = false;
  closed = false;

  detect(pcm: Buffer): Promise<boolean[]> {
    if (this.broken) return Promise.reject(new Error('broken'));
    return Promise.resolve(Array.from({ length: pcm.length / FRAME_BYTES - 5 }, () => true));
  }

  end(): Promise<boolean[]> {
    return this.detect(Buffer.alloc(10 * FRAME_BYTES));
  }

  close(): void {
    this.closed = true;
  }
}

const silence = (frames: number): Buffer => Buffer.alloc(frames * FRAME_BYTES);

describe('FallbackDetector', () => {
  it('passes on what the detector says', async () => {
    const detector = new FallbackDetector(new FragileDetector());
    expect([...(await detector.detect(silence(50))), ...(await detector.end())]).toEqual(Array(50).fill(true));
    expect(detector.knowsVoices).toBe(true);
  });

  it('goes on by the level when the detector breaks, and takes the frames that it owes for speech', async () => {
    const fragile = new FragileDetector();
    const detector = new FallbackDetector(fragile);
    await detector.detect(silence(50));
    fragile.broken = true;
    const rest = [...(await detector.detect(silence(100))), ...(await detector.end())];
    expect(rest).toEqual([...Array<boolean>(5).fill(true), ...Array<boolean>(100).fill(false)]);
    expect(detector.knowsVoices).toBe(false);
  });

  it('owes no frame at the end', async () => {
    const fragile = new FragileDetector();
    const detector = new FallbackDetector(fragile);
    await detector.detect(silence(50));
    fragile.broken = true;
    expect(await detector.end()).toHaveLength(5);
    detector.close();
    expect(fragile.closed).toBe(true);
  });
});
