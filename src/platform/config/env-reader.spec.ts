import { estimateBits, MIN_KEY_BITS } from './env-reader.js';

describe('estimateBits', () => {
  it.each([
    ['aaaaaaaa', 0],
    // Two values in turn are one period of two.
    ['abababab', 0],
    // Of four values, each as often as the others, 2 bits each; its steps are all different.
    ['abdaacbdcdbc', 24],
    // All steps are the same.
    ['acegikmoqs', 0],
  ])('%s has at most %d bits', (key, bits) => expect(estimateBits(key)).toBeLessThanOrEqual(bits));

  it('lies below the limit for typed keys, and above it for random hex', () => {
    expect(MIN_KEY_BITS).toBe(80);
    expect(estimateBits('0123456789abcdef0123456789abcdef')).toBeLessThan(10);
    expect(estimateBits('9f86d081884c7d659a2feaa0c55ad015')).toBeGreaterThan(100);
    // Four times the same 8 random characters count once.
    expect(estimateBits('bYk1mZ0Q'.repeat(4))).toBeCloseTo(estimateBits('bYk1mZ0Q'), 10);
    expect(estimateBits('bYk1mZ0Q')).toBeLessThanOrEqual(24);
  });
});
