/** Up to so many recordings with a difference, all ways to swap the engines are looked at. */
const MAX_EXACT = 16;
/** Sums of whole numbers are compared; this is for rounding errors only. */
const EPSILON = 1e-9;

/** The values between which 95 of 100 samples lie. */
export interface Interval {
  low: number;
  high: number;
}

export interface Resampling {
  seed?: number;
  /** How many samples are drawn. */
  samples?: number;
}

/**
 * A 95 % interval by the bootstrap (Bisani and Ney, ICASSP 2004): as many items as there are drawn again and again, with
 * repeats, and the statistic of each sample. Whole recordings are drawn, because the errors within one belong together.
 * @returns null for fewer than two items, which say nothing about others
 */
export function bootstrapInterval<T>(
  items: readonly T[],
  statistic: (sample: readonly T[]) => number,
  { seed = 1, samples = 10_000 }: Resampling = {},
): Interval | null {
  if (items.length < 2) return null;
  const random = randomNumbers(seed);
  const sample: T[] = [...items];
  const values = Float64Array.from({ length: samples }, () => {
    for (let at = 0; at < items.length; at++) sample[at] = items[Math.floor(random() * items.length)] as T;
    return statistic(sample);
  })
    .filter((value) => !Number.isNaN(value))
    .toSorted();
  return { low: quantile(values, 0.025), high: quantile(values, 0.975) };
}

/** Interpolated between the two sorted values next to it. */
function quantile(sorted: Float64Array, share: number): number {
  const at = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(at)] as number, sorted[Math.ceil(at)] as number];
  return below + (above - below) * (at - Math.floor(at));
}

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

const differenceOf = (pairs: readonly PairedErrors[]): number =>
  sumOf(pairs, ({ first, second }) => second - first) / sumOf(pairs, ({ units }) => units);

function pValueOf(differences: readonly number[], { seed = 1, samples = 10_000 }: Resampling): number {
  const observed = Math.abs(sumOf(differences, (difference) => difference)) - EPSILON;
  if (differences.length <= MAX_EXACT) {
    const ways = 2 ** differences.length;
    let asLarge = 0;
    for (let way = 0; way < ways; way++) {
      const sum = sumOf(differences, (difference, index) => ((way >> index) & 1 ? -difference : difference));
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

export function sumOf<T>(items: readonly T[], valueOf: (item: T, index: number) => number): number {
  return items.reduce((sum, item, index) => sum + valueOf(item, index), 0);
}

/** The same numbers from 0 to 1 for the same seed (mulberry32), so that a measurement can be repeated exactly. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const random = randomNumbers(seed);
  const list = [...items];
  for (let last = list.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [list[last], list[other]] = [list[other] as T, list[last] as T];
  }
  return list;
}
