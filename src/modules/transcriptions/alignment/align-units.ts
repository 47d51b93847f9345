import diffSequences from '@jest/diff-sequences';

/** The function itself, whatever its types say of the CommonJS module. */
const diff = diffSequences as unknown as typeof diffSequences.default;

/** Units that are compared in one alignment, which takes a second or two. Texts with so little in common stay unmatched. */
const MAX_COMPARISONS = 100_000_000;

class TooDifferentError extends Error {
  override readonly name = 'TooDifferentError';
}

/**
 * Finds the most units that two lists have in common, in order, like `diff` (Myers, An O(ND) Difference Algorithm, 1986).
 * @returns for each unit of `to` the index of the same unit in `from`, or -1; the indexes increase.
 */
export function alignUnits(from: readonly string[], to: readonly string[]): Int32Array {
  const matches = new Int32Array(to.length).fill(-1);
  let comparisons = 0;
  const isCommon = (fromIndex: number, toIndex: number): boolean => {
    if (++comparisons > MAX_COMPARISONS) throw new TooDifferentError();
    return from[fromIndex] === to[toIndex];
  };
  try {
    diff(from.length, to.length, isCommon, (count, fromIndex, toIndex) => {
      for (let index = 0; index < count; index++) matches[toIndex + index] = fromIndex + index;
    });
  } catch (error) {
    if (!(error instanceof TooDifferentError)) throw error;
  }
  return matches;
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
