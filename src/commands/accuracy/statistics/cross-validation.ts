import { type CalibrationPoint, calibratedConfidence } from '../../../modules/transcriptions/engines/calibration.js';
import { fitIsotonic } from './isotonic.js';
import { shuffled } from './random-numbers.js';
import type { JudgedWord } from './reliability.js';

export interface CrossValidation {
  /** For each recording its words with the confidence that a mapping gives them which has never seen it. */
  heldOut: JudgedWord[][];
  /** The mapping from all recordings. */
  points: CalibrationPoint[];
}

const FOLDS = 10;

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
