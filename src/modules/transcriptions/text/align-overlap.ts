/** A word or a character that was heard in one of two chunks. Times in seconds from the start of the recording. */
export interface HeardUnit {
  /** Without case and punctuation. */
  text: string;
  start: number;
  end: number;
  /** Whether the text may be divided after it: it is not within a word. */
  endsToken: boolean;
}

/** The time that two chunks have in common. */
export interface Overlap {
  start: number;
  end: number;
  /** Whether the times are those of an engine. Otherwise they are estimates from the length of the text. */
  isTimed: boolean;
}

/** How many units of the first chunk stay, and the first unit of the second one that stays. */
export interface Seam {
  left: number;
  right: number;
}

/** How far the same word may lie apart in two chunks, and what that is worth. */
interface Search {
  toleranceSeconds: number;
  /** Units this far outside of the overlap are compared, too. */
  marginSeconds: number;
}

/** Two units that are the same word. */
interface Pair {
  left: number;
  right: number;
}

/** Engines place a word in two chunks within some tenths of a second. A word that is said again comes later than that. */
const BY_TIME: Search = { toleranceSeconds: 0.5, marginSeconds: 0.25 };
/** A unit that is heard in one chunk only, such as a word that the cut divides. A pair of the same units counts 1. */
const UNPAIRED = -0.4;
/** Two different units for the same word. */
const DIFFERENT = -0.5;

/**
 * Finds where the text of the first chunk goes over into that of the second. Both have heard the time between: the words
 * that both have are aligned, and the seam is at the one nearest to the middle, which is far from both cuts.
 */
export function alignOverlap(left: readonly HeardUnit[], right: readonly HeardUnit[], overlap: Overlap): Seam {
  const pairs = bestPairs(left, right, overlap);
  return pairs.length > 0 ? seamAt(pairs, left, right, overlap) : seamByTime(left, right, overlap);
}

/** By the text within narrow limits of time; where that finds too little, by the text with the time as a hint. */
function bestPairs(left: readonly HeardUnit[], right: readonly HeardUnit[], overlap: Overlap): Pair[] {
  const seconds = overlap.end - overlap.start;
  const strict = overlap.isTimed ? pairsWithin(left, right, overlap, BY_TIME) : null;
  if (strict && strict.pairs.length * 2 >= strict.compared) return strict.pairs;
  const loose = pairsWithin(left, right, overlap, { toleranceSeconds: 1.5 * seconds, marginSeconds: seconds });
  const isClear = loose.score > 0 && loose.pairs.length > (strict?.pairs.length ?? 0);
  return isClear ? loose.pairs : (strict?.pairs ?? []);
}

function pairsWithin(
  left: readonly HeardUnit[],
  right: readonly HeardUnit[],
  { start, end }: Overlap,
  { toleranceSeconds, marginSeconds }: Search,
): { pairs: Pair[]; score: number; compared: number } {
  const firstLeft = countWhere(left, (unit) => unit.end <= start - marginSeconds);
  const lastRight = countWhere(right, (unit) => unit.start < end + marginSeconds);
  const [tail, head] = [left.slice(firstLeft), right.slice(0, lastRight)];
  const worth = (a: HeardUnit, b: HeardUnit): number => {
    const apart = Math.abs(a.start + a.end - b.start - b.end) / 2 / toleranceSeconds;
    if (apart >= 1) return -Infinity;
    return a.text === b.text ? 1 - apart ** 2 : DIFFERENT;
  };
  const { pairs, score } = alignEnds(tail, head, worth);
  return {
    score,
    pairs: pairs.map((pair) => ({ left: pair.left + firstLeft, right: pair.right })),
    compared: Math.min(tail.length, head.length),
  };
}

const countWhere = <T>(items: readonly T[], isCounted: (item: T) => boolean): number => {
  const index = items.findIndex((item) => !isCounted(item));
  return index < 0 ? items.length : index;
};

/**
 * The best alignment of an end of `left` with a beginning of `right`; what is before and behind them is free.
 * @param worth of a pair, at most 1; negative if its units differ
 */
function alignEnds(
  left: readonly HeardUnit[],
  right: readonly HeardUnit[],
  worth: (a: HeardUnit, b: HeardUnit) => number,
): { pairs: Pair[]; score: number } {
  const width = right.length + 1;
  const scores = new Float64Array((left.length + 1) * width);
  for (let j = 1; j < width; j++) scores[j] = j * UNPAIRED;
  for (let i = 1; i <= left.length; i++) {
    for (let j = 1; j < width; j++) scores[i * width + j] = bestStep(i, j).score;
  }
  let [i, j] = [left.length, 0];
  for (let column = 1; column < width; column++) if (at(i, column) > at(i, j)) j = column;
  const score = at(i, j);
  const pairs: Pair[] = [];
  while (i > 0 && j > 0) {
    const { step } = bestStep(i, j);
    if (step !== 'right') i--;
    if (step !== 'left') j--;
    if (step === 'both' && left[i]?.text === right[j]?.text) pairs.unshift({ left: i, right: j });
  }
  return { pairs, score };

  function at(row: number, column: number): number {
    return scores[row * width + column] as number;
  }

  function bestStep(row: number, column: number): { score: number; step: 'both' | 'left' | 'right' } {
    const both = at(row - 1, column - 1) + worth(left[row - 1] as HeardUnit, right[column - 1] as HeardUnit);
    const onlyLeft = at(row - 1, column) + UNPAIRED;
    const onlyRight = at(row, column - 1) + UNPAIRED;
    if (both >= onlyLeft && both >= onlyRight) return { score: both, step: 'both' };
    return onlyLeft >= onlyRight ? { score: onlyLeft, step: 'left' } : { score: onlyRight, step: 'right' };
  }
}

/**
 * The pair is kept once. The last word before a cut may have a full stop that nobody meant, and the first after it a
 * capital, so that those of the other chunk are taken.
 */
function seamAt(
  pairs: readonly Pair[],
  left: readonly HeardUnit[],
  right: readonly HeardUnit[],
  { start, end }: Overlap,
): Seam {
  const middle = (start + end) / 2;
  const isPaired = new Set(pairs.map((pair) => `${pair.left} ${pair.right}`));
  const cost = (pair: Pair): number => {
    const [a, b] = [left[pair.left] as HeardUnit, right[pair.right] as HeardUnit];
    const centre = (a.start + a.end + b.start + b.end) / 4;
    const isAlone =
      !isPaired.has(`${pair.left - 1} ${pair.right - 1}`) && !isPaired.has(`${pair.left + 1} ${pair.right + 1}`);
    const isWithinWord = !a.endsToken || !b.endsToken;
    return Math.abs(centre - middle) + (isAlone ? end - start : 0) + (isWithinWord ? end - start : 0);
  };
  const best = pairs.toSorted((a, b) => cost(a) - cost(b))[0] as Pair;
  if (best.left === left.length - 1) return best;
  return { left: best.left + 1, right: best.right + 1 };
}

/** For chunks that have no word in common, as when they were heard in two languages. */
function seamByTime(left: readonly HeardUnit[], right: readonly HeardUnit[], { start, end }: Overlap): Seam {
  const middle = (start + end) / 2;
  const centre = (unit: HeardUnit): number => (unit.start + unit.end) / 2;
  // One of them has heard nothing there.
  if (!left.some((unit) => centre(unit) > start) || !right.some((unit) => centre(unit) < end)) {
    return { left: left.length, right: 0 };
  }
  const kept = countWhere(left, (unit) => centre(unit) < middle);
  const dropped = countWhere(right, (unit) => centre(unit) < middle);
  // A word in the middle that both have dropped, or both have kept, with different spellings.
  if (isSameTime(left[kept], right[dropped - 1])) return { left: kept + 1, right: dropped };
  if (isSameTime(left[kept - 1], right[dropped])) return { left: kept, right: dropped + 1 };
  return { left: kept, right: dropped };
}

function isSameTime(a: HeardUnit | undefined, b: HeardUnit | undefined): boolean {
  if (!a || !b) return false;
  const common = Math.min(a.end, b.end) - Math.max(a.start, b.start);
  return common * 2 > Math.min(a.end - a.start, b.end - b.start);
}
