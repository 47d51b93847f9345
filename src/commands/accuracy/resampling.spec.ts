import { bootstrapInterval, comparePairs, type PairedErrors, randomNumbers, shuffled } from './resampling.js';

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Errors of `count` recordings of 10 words, of two engines. */
function pairs(count: number, rates: { first: number; second: number }, seed: number): PairedErrors[] {
  const random = randomNumbers(seed);
  const errors = (rate: number): number => Array.from({ length: 10 }, random).filter((value) => value < rate).length;
  return Array.from({ length: count }, () => ({ units: 10, first: errors(rates.first), second: errors(rates.second) }));
}

describe('randomNumbers', () => {
  it('are the same for the same seed, and spread evenly', () => {
    const [first, again, other] = [1, 1, 2].map((seed) => Array.from({ length: 20_000 }, randomNumbers(seed)));
    expect(first).toEqual(again);
    expect(first).not.toEqual(other);
    expect(mean(first as number[])).toBeCloseTo(0.5, 2);
    expect((first as number[]).every((value) => value >= 0 && value < 1)).toBe(true);
  });

  it('shuffle a list without losing an item', () => {
    const list = Array.from({ length: 50 }, (_, i) => i);
    expect(shuffled(list, 3)).not.toEqual(list);
    expect(shuffled(list, 3).toSorted((a, b) => a - b)).toEqual(list);
  });
});

describe('bootstrapInterval', () => {
  it('of a mean is that of the normal distribution, where there are many values', () => {
    const values = Array.from({ length: 400 }, randomNumbers(5));
    // The standard deviation of even values from 0 to 1 is 0.289.
    const half = (1.96 * 0.289) / Math.sqrt(400);
    const interval = bootstrapInterval(values, mean, { samples: 2000 });
    expect(interval?.low).toBeCloseTo(mean(values) - half, 2);
    expect(interval?.high).toBeCloseTo(mean(values) + half, 2);
  });

  it('contains the true value in about 95 of 100 experiments', () => {
    const random = randomNumbers(11);
    const hits = Array.from({ length: 100 }, () => {
      const values = Array.from({ length: 40 }, random);
      const interval = bootstrapInterval(values, mean, { samples: 200 });
      return interval !== null && interval.low <= 0.5 && interval.high >= 0.5;
    }).filter(Boolean).length;
    expect(hits).toBeGreaterThan(86);
    expect(hits).toBeLessThan(100);
  });

  it('is the same for the same seed, a point where all values are the same, and none for a single value', () => {
    const values = [1, 2, 5, 9, 14];
    expect(bootstrapInterval(values, mean, { seed: 4 })).toEqual(bootstrapInterval(values, mean, { seed: 4 }));
    expect(bootstrapInterval([3, 3, 3], mean)).toEqual({ low: 3, high: 3 });
    expect(bootstrapInterval([3], mean)).toBeNull();
  });
});

describe('comparePairs', () => {
  it('finds a difference where there is one, with its interval', () => {
    const { difference, interval, pValue } = comparePairs(pairs(200, { first: 0.3, second: 0.2 }, 1), {
      samples: 1000,
    });
    expect(difference).toBeCloseTo(-0.1, 1);
    expect(interval?.high).toBeLessThan(0);
    expect(pValue).toBeLessThan(0.002);
  });

  it('finds no difference in most experiments where there is none', () => {
    const found = Array.from({ length: 60 }, (_, seed) =>
      comparePairs(pairs(30, { first: 0.3, second: 0.3 }, seed + 50), { samples: 200 }),
    ).filter(({ pValue }) => pValue < 0.05).length;
    expect(found).toBeLessThan(9);
  });

  it('looks at all ways to swap the engines where there are few recordings', () => {
    const better = { units: 10, first: 2, second: 1 };
    // Only the observed way and its opposite give as large a difference: 2 of 2^5.
    expect(comparePairs([better, better, better, better, better]).pValue).toBe(2 / 32);
    expect(comparePairs([better, { units: 10, first: 1, second: 2 }])).toMatchObject({ difference: 0, pValue: 1 });
  });

  it('of the same result is no difference', () => {
    const same = pairs(30, { first: 0.2, second: 0.2 }, 9).map(({ units, first }) => ({ units, first, second: first }));
    expect(comparePairs(same)).toEqual({ difference: 0, interval: { low: 0, high: 0 }, pValue: 1 });
  });
});
