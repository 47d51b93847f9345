import { AudioPace } from './audio-pace.js';

const RATE = 48_000;

describe('AudioPace', () => {
  it('takes a minute at once, then audio at twice the speed of speech', () => {
    const pace = new AudioPace(RATE, 0);
    expect(pace.take(60 * RATE, 0)).toBe(0);
    expect(pace.take(2 * RATE, 0)).toBe(1000);
    expect(pace.take(2 * RATE, 1000)).toBe(1000);
    expect(pace.take(2 * RATE, 3000)).toBe(0);
  });

  it('never slows audio of real time, and saves no more than a minute', () => {
    const pace = new AudioPace(RATE, 0);
    for (let second = 1; second <= 3600; second++) expect(pace.take(RATE, second * 1000)).toBe(0);
    expect(pace.take(61 * RATE, 3_601_000)).toBeGreaterThan(0);
  });

  it('gives a container the rate of uncompressed sound', () => {
    const pace = new AudioPace(null, 0);
    expect(pace.take(24_000_000, 0)).toBe(0);
    expect(pace.take(800_000, 0)).toBe(1000);
  });
});
