/** A confidence that an engine reports, and the share of its words that are correct at this confidence. */
export type CalibrationPoint = readonly [reported: number, correct: number];

/** What an engine's confidences are worth, measured. */
export interface Calibration {
  /** Both values rise from point to point. */
  readonly points: readonly CalibrationPoint[];
  /** Day of the measurement. */
  readonly date: string;
  /** The recordings, the number of their words, and how it was measured. */
  readonly data: string;
}

/** Between two points the mapping is a straight line; outside of them it is that of the nearest point. */
export function calibratedConfidence(points: readonly CalibrationPoint[], reported: number): number {
  const next = points.findIndex(([confidence]) => confidence >= reported);
  if (next < 0) return points.at(-1)?.[1] ?? reported;
  const [above, correctAbove] = points[next] as CalibrationPoint;
  const [below, correctBelow] = points[next - 1] ?? [above, correctAbove];
  if (above === below) return correctAbove;
  return correctBelow + ((correctAbove - correctBelow) * (reported - below)) / (above - below);
}
