import { randomNumbers } from './random-numbers.js';

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
