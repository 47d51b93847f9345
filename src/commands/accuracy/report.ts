import { AccuracyError } from './manifest.js';
import type { AccuracyResult, FileResult } from './measure.js';
import { calibrationErrorOf, judgedWordsOf, type Reliability, reliabilityOf } from './calibration.js';
import {
  bootstrapInterval,
  comparePairs,
  type Interval,
  type PairedErrors,
  type PairedResult,
  type Resampling,
  sumOf,
} from './resampling.js';
import { alignWords, comparedUnits, type ErrorCounts, errorsIn } from './word-errors.js';

/** Reliability is resampled less often: each sample looks at every word. */
const CALIBRATION_SAMPLES = 1000;
/** Columns of a terminal. */
const COLUMNS = 100;
const SIGNIFICANT = 0.05;

/** Errors of the recordings of one language. */
interface ErrorSummary extends ErrorCounts {
  /** Null: the manifest names none. */
  lang: string | null;
  /** What is counted. */
  unit: FileResult['unit'];
  files: number;
  /** Substitutions, deletions and insertions by what was said: above 1 where more is invented than was said. */
  rate: number;
  interval: Interval | null;
  /** By the rules of the Open ASR Leaderboard; null for other languages than English. */
  leaderboard: { units: number; rate: number; interval: Interval | null } | null;
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

export function summaryOf(result: AccuracyResult, resampling: Resampling = {}): Summary {
  const audioSeconds = sumOf(result.files, ({ seconds }) => seconds);
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
  const total = (count: keyof ErrorCounts): number => sumOf(files, ({ errors }) => errors[count]);
  const [{ lang, unit }] = files as [FileResult];
  return {
    units: total('units'),
    substitutions: total('substitutions'),
    deletions: total('deletions'),
    insertions: total('insertions'),
    lang,
    unit,
    files: files.length,
    rate: rateOf(files.map(({ errors }) => errors)),
    interval: bootstrapInterval(
      files.map(({ errors }) => errors),
      rateOf,
      resampling,
    ),
    leaderboard: leaderboardSummary(files, resampling),
  };
}

function leaderboardSummary(files: readonly FileResult[], resampling: Resampling): ErrorSummary['leaderboard'] {
  const counts = files.flatMap(({ leaderboardErrors }) => leaderboardErrors ?? []);
  if (counts.length < files.length) return null;
  const units = sumOf(counts, (count) => count.units);
  return { units, rate: rateOf(counts), interval: bootstrapInterval(counts, rateOf, resampling) };
}

const rateOf = (counts: readonly ErrorCounts[]): number =>
  sumOf(counts, errorsIn) / sumOf(counts, ({ units }) => units);

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
    const units = sumOf(ofUnit, (pair) => pair.units);
    const rates = {
      first: sumOf(ofUnit, (pair) => pair.first) / units,
      second: sumOf(ofUnit, (pair) => pair.second) / units,
    };
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

/** What a measurement found, for a terminal. */
export function textReport(result: AccuracyResult, summary: Summary): string {
  const { engine, model, recordings, date, jobs, files, skipped } = result;
  const worst = worstLines(files);
  return [
    `${engine} ${model} on ${recordings}, ${date}`,
    `${files.length} recordings, ${summary.audioSeconds.toFixed(0)} s of audio, ${jobs} at a time`,
    ...skippedLines(skipped),
    '',
    ...summary.errors.map(errorLine),
    '',
    `real-time factor: ${summary.realTimeFactor.wall.toFixed(3)} wall, ${cpuText(summary)} CPU`,
    calibrationLine(result, summary),
    ...(worst.length > 0 ? ['', 'The recordings with the most errors:', '', worst.join('\n\n')] : []),
    '',
  ].join('\n');
}

function skippedLines(skipped: AccuracyResult['skipped']): string[] {
  const reasons = new Map<string, number>();
  for (const { reason } of skipped) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  return [...reasons].map(([reason, count]) => `${count} not measured: ${reason}`);
}

function errorLine(summary: ErrorSummary): string {
  const { lang, unit, units, rate, interval, substitutions, deletions, insertions, files } = summary;
  return (
    `${lang ?? 'no language given'}: ${unit} error rate ${percent(rate)}${range(interval, percent)} ` +
    `over ${units} ${unit}s in ${files} recordings: ` +
    `${substitutions} substitutions, ${deletions} deletions, ${insertions} insertions` +
    leaderboardLine(summary)
  );
}

function leaderboardLine({ leaderboard, unit }: ErrorSummary): string {
  if (!leaderboard) return '';
  const { rate, interval, units } = leaderboard;
  return `\n  by the rules of the Open ASR Leaderboard: ${percent(rate)}${range(interval, percent)} over ${units} ${unit}s`;
}

function cpuText({ realTimeFactor: { cpu } }: Summary): string {
  return cpu === null ? 'unknown' : cpu.toFixed(3);
}

function calibrationLine({ rawConfidence }: AccuracyResult, { reliability, calibrationInterval }: Summary): string {
  if (!reliability) return 'confidence: the engine gives none for words';
  const { expectedCalibrationError, brierScore, words } = reliability;
  const kind = rawConfidence ? 'confidence of the engine itself' : 'confidence';
  const error = `${expectedCalibrationError.toFixed(3)}${range(calibrationInterval, decimal)}`;
  return `${kind}: expected calibration error ${error}, Brier score ${brierScore.toFixed(3)}, over ${words} words`;
}

/** How two engines differ, for a terminal. */
export function comparisonReport(comparisons: readonly Comparison[]): string {
  return comparisons
    .map(({ first, second, unit, files, leftOut, rates, result }) => {
      const { difference, interval, pValue } = result;
      return [
        `${second} compared with ${first}: ${files} recordings${leftOut > 0 ? `, ${leftOut} are in one result only` : ''}`,
        `${unit} error rate ${percent(rates.first)} → ${percent(rates.second)}`,
        `difference ${points(difference)}${range(interval, points)}, p = ${pValue < 0.0001 ? '< 0.0001' : pValue.toFixed(4)}`,
        conclusionOf(second, first, pValue, difference),
        '',
      ].join('\n');
    })
    .join('\n');
}

function conclusionOf(second: string, first: string, pValue: number, difference: number): string {
  if (pValue >= SIGNIFICANT) return 'These recordings do not show which is better.';
  return `${second} is ${difference < 0 ? 'better' : 'worse'} than ${first} on these recordings.`;
}

/** The recordings with the most errors, each with what was said above what was heard, column by column. */
export function worstLines(files: readonly FileResult[], count = 10): string[] {
  const share = ({ errors }: FileResult): number => errorsIn(errors) / Math.max(1, errors.units);
  return files
    .filter(({ errors }) => errorsIn(errors) > 0)
    .toSorted((a, b) => errorsIn(b.errors) - errorsIn(a.errors) || share(b) - share(a))
    .slice(0, count)
    .map(linesOf);
}

function linesOf({ file, lang, ref, text, errors, problem }: FileResult): string {
  const [said, heard] = [comparedUnits(ref, lang), comparedUnits(text, lang)];
  const rows: [string, string][] = [['', '']];
  for (const edit of alignWords(said, heard)) {
    const [above, below] = columnOf(said[edit.said], heard[edit.heard], edit.kind);
    const last = rows.at(-1) as [string, string];
    if (last[0].length + above.length > COLUMNS) rows.push([above, below]);
    else rows[rows.length - 1] = [`${last[0]} ${above}`, `${last[1]} ${below}`];
  }
  const table = rows.map(([above, below]) => `  said  ${above.trim()}\n  heard ${below.trim()}`).join('\n\n');
  const head = `${file}: ${errorsIn(errors)} of ${errors.units}${problem ? ` (${problem})` : ''}`;
  return `${head}\n${table}`;
}

/** What differs is in capitals, what is missing is a row of stars, both in columns of the same width. */
function columnOf(said: string | undefined, heard: string | undefined, kind: string): [string, string] {
  const [above, below] = [said ?? '', heard ?? ''];
  const width = Math.max(above.length, below.length);
  const shown = (unit: string): string =>
    kind === 'correct' ? unit.padEnd(width) : unit.toUpperCase().padEnd(width, unit === '' ? '*' : ' ');
  return [shown(above), shown(below)];
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
const points = (share: number): string => `${share > 0 ? '+' : ''}${(share * 100).toFixed(1)} points`;
const decimal = (value: number): string => value.toFixed(3);

function range(interval: Interval | null, format: (value: number) => string): string {
  return interval === null ? '' : ` (95 %: ${format(interval.low)} to ${format(interval.high)})`;
}
