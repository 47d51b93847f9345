import type { AccuracyResult, FileResult } from '../measuring/accuracy-result.js';
import { bootstrapInterval, type Interval, type Resampling } from '../statistics/bootstrap.js';
import { type JudgedWord, type Reliability, reliabilityOf } from '../statistics/reliability.js';
import { type ErrorCounts, errorsIn } from '../statistics/word-errors.js';

/** Errors of the recordings of one language. */
export interface ErrorSummary extends ErrorCounts {
  /** Null: the manifest names none. */
  lang: string | null;
  /** What is counted. */
  unit: FileResult['unit'];
  files: number;
  /** Substitutions, deletions and insertions by what was said: above 1 where more is invented than was said. */
  rate: number;
  interval: Interval | null;
}

export interface Summary {
  errors: ErrorSummary[];
  audioSeconds: number;
  /** Seconds of work for each second of audio. */
  realTimeFactor: { wall: number; cpu: number | null };
  reliability: Reliability | null;
  /** Interval of the expected calibration error. */
  calibrationInterval: Interval | null;
}

/** Reliability is resampled less often: each sample looks at every word. */
const CALIBRATION_SAMPLES = 1000;

export function summaryOf(result: AccuracyResult, resampling: Resampling = {}): Summary {
  const audioSeconds = result.files.reduce((sum, { seconds }) => sum + seconds, 0);
  const perSecond = (seconds: number): number => seconds / audioSeconds;
  const spoken = result.files.filter(({ words }) => words.length > 0).map(judgedWordsOf);
  return {
    errors: groupsOf(result.files).map((files) => errorSummary(files, resampling)),
    audioSeconds,
    realTimeFactor: {
      wall: perSecond(result.wallSeconds),
      cpu: result.cpuSeconds === null ? null : perSecond(result.cpuSeconds),
    },
    reliability: reliabilityOf(spoken.flat()),
    calibrationInterval: bootstrapInterval(spoken, calibrationErrorOf, { samples: CALIBRATION_SAMPLES, ...resampling }),
  };
}

export const judgedWordsOf = ({ words }: FileResult): JudgedWord[] =>
  words.map(([, confidence, correct]) => ({ confidence, correct: correct === 1 }));

const calibrationErrorOf = (files: readonly JudgedWord[][]): number =>
  reliabilityOf(files.flat())?.expectedCalibrationError ?? NaN;

/** By language, and by what is counted: errors in words and in characters cannot be added. */
function groupsOf(files: readonly FileResult[]): FileResult[][] {
  const groups = new Map<string, FileResult[]>();
  for (const file of files) {
    const key = `${file.lang} ${file.unit}`;
    groups.set(key, [...(groups.get(key) ?? []), file]);
  }
  return [...groups.values()];
}

function errorSummary(files: readonly FileResult[], resampling: Resampling): ErrorSummary {
  const counts = { units: 0, substitutions: 0, deletions: 0, insertions: 0 };
  for (const { errors } of files) {
    counts.units += errors.units;
    counts.substitutions += errors.substitutions;
    counts.deletions += errors.deletions;
    counts.insertions += errors.insertions;
  }
  const [{ lang, unit }] = files as [FileResult];
  return {
    ...counts,
    lang,
    unit,
    files: files.length,
    rate: rateOf(files),
    interval: bootstrapInterval(files, rateOf, resampling),
  };
}

function rateOf(files: readonly FileResult[]): number {
  let [errors, units] = [0, 0];
  for (const file of files) {
    errors += errorsIn(file.errors);
    units += file.errors.units;
  }
  return errors / units;
}
