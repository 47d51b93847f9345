import type { AccuracyResult } from '../measuring/accuracy-result.js';
import { AccuracyError } from '../measuring/manifest.js';
import { bootstrapInterval } from '../statistics/bootstrap.js';
import { crossValidate } from '../statistics/cross-validation.js';
import { type JudgedWord, reliabilityOf } from '../statistics/reliability.js';
import { judgedWordsOf } from './summary.js';

const SAMPLES = 1000;

/**
 * The mapping of confidences that fits the results, as it stands in `engines/calibration.ts`, and what it
 * is worth on recordings that it was not fitted to.
 * @throws AccuracyError for results whose confidences were mapped already
 */
export function fitReport(results: readonly AccuracyResult[]): { json: object; text: string } {
  if (results.some(({ rawConfidence }) => !rawConfidence)) {
    throw new AccuracyError('The mapping is fitted to the confidences of the engine: measure with --raw');
  }
  const files = results.flatMap((result) => result.files.map(judgedWordsOf)).filter(({ length }) => length > 0);
  const { points, heldOut } = crossValidate(files);
  const [before, after] = [errorOf(files), errorOf(heldOut)];
  const list = points.map(([reported, correct]) => `    [${reported}, ${correct}],`).join('\n');
  const words = files.flat().length;
  const text = [
    `${words} words of ${files.length} recordings: ${results.map(({ recordings }) => recordings).join(', ')}`,
    `expected calibration error ${lineOf(before)}`,
    `with the mapping, on recordings that it was not fitted to: ${lineOf(after)}`,
    `  points: [\n${list}\n  ],\n`,
  ].join('\n');
  return { json: { words, recordings: files.length, points, before, after }, text };
}

interface CalibrationError {
  value: number;
  interval: { low: number; high: number } | null;
  brierScore: number;
}

function errorOf(files: readonly JudgedWord[][]): CalibrationError {
  const error = (sample: readonly JudgedWord[][]): number =>
    reliabilityOf(sample.flat())?.expectedCalibrationError ?? NaN;
  return {
    value: error(files),
    interval: bootstrapInterval(files, error, { samples: SAMPLES }),
    brierScore: reliabilityOf(files.flat())?.brierScore ?? NaN,
  };
}

function lineOf({ value, interval, brierScore }: CalibrationError): string {
  const range = interval ? ` (95 %: ${interval.low.toFixed(3)} to ${interval.high.toFixed(3)})` : '';
  return `${value.toFixed(3)}${range}, Brier score ${brierScore.toFixed(3)}`;
}
