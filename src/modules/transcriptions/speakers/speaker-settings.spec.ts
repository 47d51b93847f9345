import { bytesFor, paddedSamples, secondsFor, windowsOf } from './speaker-settings.js';

const WINDOW = 160_000;

describe('the windows of a recording', () => {
  it.each([
    [0, 1, 160_000],
    [1, 1, 160_000],
    [160_000, 1, 160_000],
    [160_001, 2, 176_000],
    [176_000, 2, 176_000],
    [176_001, 3, 192_000],
    [1_600_007, 92, 1_616_000],
  ])('%d samples are in %d windows with %d samples', (samples, windows, padded) => {
    expect({ windows: windowsOf(samples, WINDOW), padded: paddedSamples(samples, WINDOW) }).toEqual({
      windows,
      padded,
    });
  });
});

describe('the memory of a recording', () => {
  it('grows with the square of its length', () => {
    expect(bytesFor(7200) / 2 ** 20).toBeCloseTo(1950, -2);
    expect(bytesFor(3600) / 2 ** 20).toBeLessThan(bytesFor(7200) / 2 ** 20 / 2);
  });

  it.each([1, 60, 3600, 7200, 86_400])('suffices for the %d s that it was computed for', (seconds) => {
    expect(secondsFor(bytesFor(seconds))).toBeCloseTo(seconds, 3);
  });
});
