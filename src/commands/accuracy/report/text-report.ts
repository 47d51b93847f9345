import type { AccuracyResult } from '../measuring/accuracy-result.js';
import type { Interval } from '../statistics/bootstrap.js';
import type { Comparison } from './comparison.js';
import type { ErrorSummary, Summary } from './summary.js';
import { worstLines } from './worst-lines.js';

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
    `${substitutions} substitutions, ${deletions} deletions, ${insertions} insertions`
  );
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

const SIGNIFICANT = 0.05;

function conclusionOf(second: string, first: string, pValue: number, difference: number): string {
  if (pValue >= SIGNIFICANT) return 'These recordings do not show which is better.';
  return `${second} is ${difference < 0 ? 'better' : 'worse'} than ${first} on these recordings.`;
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
const points = (share: number): string => `${share > 0 ? '+' : ''}${(share * 100).toFixed(1)} points`;
const decimal = (value: number): string => value.toFixed(3);

function range(interval: Interval | null, format: (value: number) => string): string {
  return interval === null ? '' : ` (95 %: ${format(interval.low)} to ${format(interval.high)})`;
}
