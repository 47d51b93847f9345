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

/** Measured with PocketSphinx, its US English model and the settings in docs/decisions/0006-pocketsphinx-settings.md. */
export const POCKETSPHINX_EN_US: Calibration = {
  date: '2026-11-22',
  data:
    '3,145 words of 310 English telephone prompts by one speaker (asterisk-core-sounds-en 1.6.1, G.722). Expected ' +
    'calibration error 0.108 before and, on prompts that the mapping was not fitted to, 0.018 after: docs/accuracy.md.',
  points: [
    [0.0368, 0.2843],
    [0.0861, 0.3077],
    [0.128, 0.3529],
    [0.1907, 0.4118],
    [0.2805, 0.4803],
    [0.346, 0.5192],
    [0.408, 0.5263],
    [0.4753, 0.6796],
    [0.5343, 0.7171],
    [0.5947, 0.7226],
    [0.7548, 0.7825],
    [0.8885, 0.8092],
    [0.9164, 0.8269],
    [0.9533, 0.8966],
    [0.9917, 0.934],
    [0.9997, 0.9553],
  ],
};
