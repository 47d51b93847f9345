/** A word that an engine gave, its confidence in it, and whether it was said there. */
export interface JudgedWord {
  confidence: number;
  correct: boolean;
}

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

const BINS = 10;

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
  const apart = bins.reduce((sum, bin) => sum + bin.count * Math.abs(bin.confidence - bin.accuracy), 0);
  return {
    words: words.length,
    bins,
    expectedCalibrationError: apart / words.length,
    brierScore: squares / words.length,
  };
}

/** Wilson's 95 % interval of a share, which stays within 0 and 1. */
export function wilsonInterval(share: number, count: number): { low: number; high: number } {
  const z = 1.96;
  const middle = share + z ** 2 / (2 * count);
  const spread = z * Math.sqrt((share * (1 - share)) / count + z ** 2 / (4 * count ** 2));
  const scale = 1 + z ** 2 / count;
  return { low: Math.max(0, (middle - spread) / scale), high: Math.min(1, (middle + spread) / scale) };
}
