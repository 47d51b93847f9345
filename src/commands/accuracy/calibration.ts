import { calibratedConfidence, type CalibrationPoint } from '../../modules/transcriptions/engines/calibration.js';
import { AccuracyError } from './manifest.js';
import type { AccuracyResult, FileResult } from './measure.js';
import { bootstrapInterval, type Interval, shuffled, sumOf } from './resampling.js';

const SAMPLES = 1000;
const FOLDS = 10;
/** Fewer words say little about a share. */
const MIN_WORDS = 50;
const BINS = 10;

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
  interval: Interval | null;
  brierScore: number;
}

function errorOf(files: readonly JudgedWord[][]): CalibrationError {
  return {
    value: calibrationErrorOf(files),
    interval: bootstrapInterval(files, calibrationErrorOf, { samples: SAMPLES }),
    brierScore: reliabilityOf(files.flat())?.brierScore ?? NaN,
  };
}

function lineOf({ value, interval, brierScore }: CalibrationError): string {
  const range = interval ? ` (95 %: ${interval.low.toFixed(3)} to ${interval.high.toFixed(3)})` : '';
  return `${value.toFixed(3)}${range}, Brier score ${brierScore.toFixed(3)}`;
}

/** A word that an engine gave, its confidence in it, and whether it was said there. */
export interface JudgedWord {
  confidence: number;
  correct: boolean;
}

export const judgedWordsOf = ({ words }: FileResult): JudgedWord[] =>
  words.map(([, confidence, correct]) => ({ confidence, correct: correct === 1 }));

/** Words whose confidence lies between two values. */
interface ReliabilityBin {
  from: number;
  to: number;
  count: number;
  /** Mean confidence, and the share of words that are correct. */
  confidence: number;
  accuracy: number;
}

export interface Reliability {
  words: number;
  bins: ReliabilityBin[];
  /**
   * Expected calibration error (Naeini, Cooper and Hauskrecht, AAAI 2015): how far confidence and accuracy lie apart in a
   * bin, on average over all words.
   */
  expectedCalibrationError: number;
  /** Mean squared distance of the confidence from 1 for a correct and 0 for a wrong word. */
  brierScore: number;
}

/** Bins of equal width; those without words are left out. Null without words. */
export function reliabilityOf(words: readonly JudgedWord[]): Reliability | null {
  if (words.length === 0) return null;
  const sums = Array.from({ length: BINS }, () => ({ count: 0, confidence: 0, correct: 0 }));
  let squares = 0;
  for (const { confidence, correct } of words) {
    const bin = sums[Math.min(BINS - 1, Math.floor(confidence * BINS))] as (typeof sums)[number];
    bin.count += 1;
    bin.confidence += confidence;
    bin.correct += correct ? 1 : 0;
    squares += (confidence - (correct ? 1 : 0)) ** 2;
  }
  const bins = sums.flatMap(({ count, confidence, correct }, index) =>
    count === 0
      ? []
      : {
          from: index / BINS,
          to: (index + 1) / BINS,
          count,
          confidence: confidence / count,
          accuracy: correct / count,
        },
  );
  const apart = sumOf(bins, (bin) => bin.count * Math.abs(bin.confidence - bin.accuracy));
  return {
    words: words.length,
    bins,
    expectedCalibrationError: apart / words.length,
    brierScore: squares / words.length,
  };
}

/** NaN without words. */
export const calibrationErrorOf = (files: readonly JudgedWord[][]): number =>
  reliabilityOf(files.flat())?.expectedCalibrationError ?? NaN;

/** Wilson's 95 % interval of a share, which stays within 0 and 1. */
export function wilsonInterval(share: number, count: number): Interval {
  const z = 1.96;
  const middle = share + z ** 2 / (2 * count);
  const spread = z * Math.sqrt((share * (1 - share)) / count + z ** 2 / (4 * count ** 2));
  const scale = 1 + z ** 2 / count;
  return { low: Math.max(0, (middle - spread) / scale), high: Math.min(1, (middle + spread) / scale) };
}

interface Block {
  count: number;
  confidence: number;
  correct: number;
}

/**
 * The mapping from confidence to the share of correct words that never falls and fits best (pool adjacent violators). The
 * words are taken in blocks of similar confidence, and each share is drawn a little towards a half (Laplace), so that no
 * mapping says 0 or 1 because of a few words.
 */
export function fitIsotonic(words: readonly JudgedWord[], minWords = MIN_WORDS): CalibrationPoint[] {
  const pooled: Block[] = [];
  for (const block of blocksOf(words, minWords)) {
    pooled.push(block);
    for (let last = pooled.at(-1), before = pooled.at(-2); last && before; before = pooled.at(-2)) {
      if (shareOf(before) < shareOf(last)) break;
      pooled.splice(-2, 2, merged(before, last));
      last = pooled.at(-1) as Block;
    }
  }
  return pooled.map((block) => [fourDecimals(block.confidence / block.count), fourDecimals(shareOf(block))]);
}

/** Words in the order of their confidence; those of the same confidence are never separated. */
function blocksOf(words: readonly JudgedWord[], minWords: number): Block[] {
  const blocks: Block[] = [];
  let highest = -1;
  for (const { confidence, correct } of words.toSorted((a, b) => a.confidence - b.confidence)) {
    const word = { count: 1, confidence, correct: correct ? 1 : 0 };
    const last = blocks.at(-1);
    if (last && (last.count < minWords || confidence === highest)) blocks.splice(-1, 1, merged(last, word));
    else blocks.push(word);
    highest = confidence;
  }
  const [before, last] = blocks.slice(-2);
  if (before && last && last.count < minWords) blocks.splice(-2, 2, merged(before, last));
  return blocks;
}

const merged = (a: Block, b: Block): Block => ({
  count: a.count + b.count,
  confidence: a.confidence + b.confidence,
  correct: a.correct + b.correct,
});

const shareOf = ({ count, correct }: Block): number => (correct + 1) / (count + 2);
const fourDecimals = (value: number): number => Number(value.toFixed(4));

/** What `crossValidate` finds. */
interface CrossValidation {
  /** For each recording its words with the confidence that a mapping gives them which has never seen it. */
  heldOut: JudgedWord[][];
  /** The mapping from all recordings. */
  points: CalibrationPoint[];
}

/** Fits the mapping to nine tenths of the recordings and applies it to the last, ten times. */
export function crossValidate(files: readonly JudgedWord[][], seed = 1): CrossValidation {
  const order = shuffled(files, seed);
  const inFold = (index: number, fold: number): boolean => index % FOLDS === fold;
  const heldOut = Array.from({ length: FOLDS }, (_, fold) => {
    const points = fitIsotonic(order.filter((_words, index) => !inFold(index, fold)).flat());
    return order.filter((_words, index) => inFold(index, fold)).map((words) => applied(points, words));
  });
  return { heldOut: heldOut.flat(), points: fitIsotonic(files.flat()) };
}

export const applied = (points: readonly CalibrationPoint[], words: readonly JudgedWord[]): JudgedWord[] =>
  words.map(({ confidence, correct }) => ({ confidence: calibratedConfidence(points, confidence), correct }));
