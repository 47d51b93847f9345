import { bootstrapInterval, type Interval, type Resampling } from './bootstrap.js';
import { randomNumbers } from './random-numbers.js';

/** Errors of two engines on the same recording. */
export interface PairedErrors {
  units: number;
  first: number;
  second: number;
}

export interface PairedResult {
  /** Error rate of the second less that of the first: below 0 where the second is better. */
  difference: number;
  interval: Interval | null;
  /** How often chance alone gives a difference as large as this one, if both engines are equally good. */
  pValue: number;
}

/** Up to so many recordings with a difference, all ways to swap the engines are looked at. */
const MAX_EXACT = 16;
/** Sums of whole numbers are compared; this is for rounding errors only. */
const EPSILON = 1e-9;

/**
 * Compares two engines on the same recordings: the interval of the difference by the paired bootstrap, the p-value by the
 * matched-pairs randomisation test, which swaps the engines recording by recording.
 */
export function comparePairs(pairs: readonly PairedErrors[], resampling: Resampling = {}): PairedResult {
  return {
    difference: differenceOf(pairs),
    interval: bootstrapInterval(pairs, differenceOf, resampling),
    pValue: pValueOf(
      pairs.map(({ first, second }) => second - first).filter((difference) => difference !== 0),
      resampling,
    ),
  };
}

function differenceOf(pairs: readonly PairedErrors[]): number {
  let [units, difference] = [0, 0];
  for (const pair of pairs) {
    units += pair.units;
    difference += pair.second - pair.first;
  }
  return difference / units;
}

function pValueOf(differences: readonly number[], { seed = 1, samples = 10_000 }: Resampling): number {
  const observed = Math.abs(sumOf(differences)) - EPSILON;
  if (differences.length <= MAX_EXACT) {
    const ways = 2 ** differences.length;
    let asLarge = 0;
    for (let way = 0; way < ways; way++) {
      const sum = sumOf(differences.map((difference, index) => ((way >> index) & 1 ? -difference : difference)));
      if (Math.abs(sum) >= observed) asLarge += 1;
    }
    return asLarge / ways;
  }
  const random = randomNumbers(seed);
  let asLarge = 1;
  for (let sample = 0; sample < samples; sample++) {
    let sum = 0;
    for (const difference of differences) sum += random() < 0.5 ? difference : -difference;
    if (Math.abs(sum) >= observed) asLarge += 1;
  }
  // What was observed counts as one of the ways, so that no p-value is 0.
  return asLarge / (samples + 1);
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
