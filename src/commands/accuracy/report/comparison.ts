import type { AccuracyResult, FileResult } from '../measuring/accuracy-result.js';
import { AccuracyError } from '../measuring/manifest.js';
import type { Resampling } from '../statistics/bootstrap.js';
import { comparePairs, type PairedErrors, type PairedResult } from '../statistics/paired-test.js';
import { errorsIn } from '../statistics/word-errors.js';

export interface Comparison {
  first: string;
  second: string;
  unit: FileResult['unit'];
  /** That both have. */
  files: number;
  /** That only one of them has. */
  leftOut: number;
  rates: { first: number; second: number };
  result: PairedResult;
}

/**
 * Compares two results recording by recording, words and characters apart.
 * @param given where they are from, for two results of the same engine and model
 * @throws AccuracyError when they have no recording in common
 */
export function compareResults(
  a: AccuracyResult,
  b: AccuracyResult,
  given: readonly [string, string],
  resampling: Resampling = {},
): Comparison[] {
  const [first, second] = nameOf(a) === nameOf(b) ? given : [nameOf(a), nameOf(b)];
  const others = new Map(b.files.map((file) => [file.file, file]));
  const pairs = a.files.flatMap((one): [FileResult, FileResult][] => {
    const other = others.get(one.file);
    if (!other) return [];
    if (other.ref !== one.ref) throw new AccuracyError(`The results differ in what is said in ${one.file}`);
    return [[one, other]];
  });
  if (pairs.length === 0) throw new AccuracyError('The results have no recording in common');
  const leftOut = a.files.length + b.files.length - 2 * pairs.length;
  return (['word', 'character'] as const).flatMap((unit) => {
    const ofUnit = pairs.filter(([one]) => one.unit === unit).map(pairOf);
    if (ofUnit.length === 0) return [];
    const rates = { first: rateOf(ofUnit, 'first'), second: rateOf(ofUnit, 'second') };
    const result = comparePairs(ofUnit, resampling);
    return { first, second, unit, files: ofUnit.length, leftOut, rates, result };
  });
}

const pairOf = ([first, second]: [FileResult, FileResult]): PairedErrors => ({
  units: first.errors.units,
  first: errorsIn(first.errors),
  second: errorsIn(second.errors),
});

const nameOf = ({ engine, model }: AccuracyResult): string => `${engine} ${model}`;

function rateOf(pairs: readonly PairedErrors[], which: 'first' | 'second'): number {
  const sum = (of: (pair: PairedErrors) => number): number => pairs.reduce((total, pair) => total + of(pair), 0);
  return sum((pair) => pair[which]) / sum(({ units }) => units);
}
