import diffSequences from '@jest/diff-sequences';

/** The function itself, whatever its types say of the CommonJS module. */
const diff = diffSequences as unknown as typeof diffSequences.default;

/** Units that are compared in one alignment, which takes about a second. What is left then stays unmatched. */
const MAX_COMPARISONS = 30_000_000;

class TooDifferentError extends Error {
  override readonly name = 'TooDifferentError';
}

/**
 * Finds units that two lists have in common, in order. First come those that occur once on each side, then, between two of
 * these, as many as there are. Compared as a whole, a long text with many changes would reach the limit with nothing found.
 * @returns for each unit of `to` the index of the same unit in `from`, or -1; the indexes increase.
 */
export function alignUnits(from: readonly string[], to: readonly string[]): Int32Array {
  const matches = new Int32Array(to.length).fill(-1);
  let comparisons = 0;
  const alignBetween = (fromStart: number, fromEnd: number, toStart: number, toEnd: number): void => {
    const isCommon = (fromIndex: number, toIndex: number): boolean => {
      if (++comparisons > MAX_COMPARISONS) throw new TooDifferentError();
      return from[fromStart + fromIndex] === to[toStart + toIndex];
    };
    diff(fromEnd - fromStart, toEnd - toStart, isCommon, (count, fromIndex, toIndex) => {
      for (let n = 0; n < count; n++) matches[toStart + toIndex + n] = fromStart + fromIndex + n;
    });
  };
  const anchors = anchorsOf(from, to);
  for (const anchor of anchors) matches[anchor.to] = anchor.from;
  try {
    let [fromStart, toStart] = [0, 0];
    for (const anchor of [...anchors, { from: from.length, to: to.length }]) {
      alignBetween(fromStart, anchor.from, toStart, anchor.to);
      [fromStart, toStart] = [anchor.from + 1, anchor.to + 1];
    }
  } catch (error) {
    if (!(error instanceof TooDifferentError)) throw error;
  }
  return matches;
}

/** Pairs of units that occur once on each side; the most that stand in the same order. */
function anchorsOf(from: readonly string[], to: readonly string[]): { from: number; to: number }[] {
  const inTo = placesOfUnique(to);
  const pairs = [...placesOfUnique(from)].flatMap(([unit, place]) => {
    const other = inTo.get(unit);
    return other === undefined ? [] : [{ from: place, to: other }];
  });
  return longestRising(pairs.map((pair) => pair.to)).map((index) => pairs[index] as { from: number; to: number });
}

function placesOfUnique(units: readonly string[]): Map<string, number> {
  const places = new Map<string, number>();
  const repeated = new Set<string>();
  units.forEach((unit, place) => {
    if (places.has(unit)) repeated.add(unit);
    else places.set(unit, place);
  });
  for (const unit of repeated) places.delete(unit);
  return places;
}

/** Indexes of the longest subsequence in which no value is smaller than the one before it. */
export function longestRising(values: readonly number[]): number[] {
  const tails: number[] = [];
  const previous = new Int32Array(values.length).fill(-1);
  values.forEach((value, index) => {
    let [low, high] = [0, tails.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const tail = values[tails[middle] as number] as number;
      if (tail <= value) low = middle + 1;
      else high = middle;
    }
    if (low > 0) previous[index] = tails[low - 1] as number;
    tails[low] = index;
  });
  const rising: number[] = [];
  for (let at = tails.at(-1) ?? -1; at >= 0; at = previous[at] as number) rising.push(at);
  return rising.toReversed();
}
