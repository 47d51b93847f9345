import { SAMPLES_PER_SECOND } from './pcm.js';
import { PeakMeter, waveformOf } from './peak-meter.js';

/** Audio whose loudness is given for each moment, with alternating signs. */
function audio(seconds: number, loudness: (second: number) => number): Buffer {
  const pcm = Buffer.alloc(Math.round(seconds * SAMPLES_PER_SECOND) * 2);
  for (let i = 0; i < pcm.length / 2; i++) {
    const sample = Math.round(32_767 * loudness(i / SAMPLES_PER_SECOND)) * (i % 2 === 0 ? 1 : -1);
    pcm.writeInt16LE(sample, 2 * i);
  }
  return pcm;
}

function measured(pcm: Buffer, bufferBytes = 65_536): Uint16Array {
  const meter = new PeakMeter();
  for (let at = 0; at < pcm.length; at += bufferBytes) meter.add(pcm.subarray(at, at + bufferBytes));
  return meter.peaks();
}

const ramp = (second: number): number => second / 20;

describe('the peaks of a recording', () => {
  it.each([
    [0.0005, 1],
    [0.01, 1],
    [0.255, 26],
    [1, 100],
    [10, 1000],
    [10.01, 1000],
    [39.99, 1000],
    [40, 1000],
    [600, 1000],
  ])('of %s s are %s points', (seconds, points) => {
    expect(measured(audio(seconds, () => 0.5))).toEqual(Uint16Array.from({ length: points }, () => 16_384));
  });

  it('are those of no point without audio', () => {
    expect(new PeakMeter().peaks()).toHaveLength(0);
  });

  it.each([39, 41, 100, 200])('of %s s are loud only where the audio is', (seconds) => {
    const peaks = [...measured(audio(seconds, (second) => (second >= 30 && second < 30.5 ? 0.5 : 0)))];
    const loud = peaks.flatMap((peak, point) => (peak > 0 ? (point / 1000) * seconds : []));
    // A point may begin before the sound.
    expect(Math.min(...loud)).toBeGreaterThan(30 - seconds / 500);
    expect(Math.max(...loud)).toBeLessThan(30.5 + seconds / 500);
    expect(loud.length).toBeGreaterThanOrEqual(Math.floor(500 / seconds));
  });

  it('do not depend on the buffers in which the audio comes, not even on odd ones', () => {
    const pcm = audio(1.234, (second) => Math.abs(Math.sin(second * 5)));
    const whole = measured(pcm, pcm.length);
    for (const bytes of [1, 3, 319, 320, 321, 4097]) expect(measured(pcm, bytes)).toEqual(whole);
    const odd = Buffer.concat([Buffer.alloc(1), pcm]).subarray(1);
    expect(measured(odd, odd.length)).toEqual(whole);
  });

  it.each([15, 60, 61.3])('stand where the audio is, in %s s', (seconds) => {
    const peaks = measured(audio(seconds, (second) => (second / seconds) ** 2));
    for (const [point, peak] of peaks.entries()) {
      const expected = 32_767 * ((point + 1) / 1000) ** 2;
      // Within the length of half a point.
      expect(Math.abs(peak - expected)).toBeLessThan(45);
    }
  });

  it('show a click of a single sample, of either sign, however long the recording is', () => {
    for (const value of [-32_768, 32_767]) {
      const pcm = audio(300, () => 0);
      pcm.writeInt16LE(value, 2 * 123 * SAMPLES_PER_SECOND);
      const peaks = measured(pcm);
      expect([...peaks].flatMap((peak, point) => (peak > 0 ? [[point, peak]] : []))).toEqual([[410, Math.abs(value)]]);
    }
  });
});

describe('the waveform', () => {
  it('is as high as its loudest point, and no higher where all is quiet', () => {
    expect([...waveformOf([Uint16Array.of(0, 8192, 16_384)])]).toEqual([0, 128, 255]);
    expect([...waveformOf([Uint16Array.of(0, 3, 256)])]).toEqual([0, 1, 128]);
    expect([...waveformOf([measured(audio(1, ramp))])].slice(-1)).toEqual([255]);
  });

  it('has the louder one of two channels at each point', () => {
    expect([...waveformOf([Uint16Array.of(0, 100, 32_768), Uint16Array.of(16_384, 0, 0)])]).toEqual([128, 1, 255]);
    expect([...waveformOf([Uint16Array.of(512), Uint16Array.of(0, 512)])]).toEqual([255, 255]);
    expect(waveformOf([Uint16Array.of()])).toHaveLength(0);
  });
});
