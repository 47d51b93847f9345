import { EditPaths, type Range } from './edit-paths.js';

/** Units that are looked at in one alignment: about a tenth of a second. What is left then stays unmatched. */
const BUDGET = 15_000_000;

/**
 * Finds the units that two lists have in common, in order, like `diff`.
 * @returns for each unit of `to` the index of the same unit in `from`, or -1; the indexes increase.
 */
export function alignUnits(from: readonly string[], to: readonly string[]): Int32Array {
  return new Alignment(from, to).match();
}

/** Patience diff: units that occur once on both sides are matched first, then what lies between them, by Myers's diff. */
class Alignment {
  private readonly matches: Int32Array;
  private readonly from: Int32Array;
  private readonly to: Int32Array;

  constructor(from: readonly string[], to: readonly string[]) {
    const numbers = new Map<string, number>();
    const numbered = (unit: string): number => {
      const known = numbers.get(unit);
      if (known !== undefined) return known;
      numbers.set(unit, numbers.size);
      return numbers.size - 1;
    };
    this.from = Int32Array.from(from, numbered);
    this.to = Int32Array.from(to, numbered);
    this.matches = new Int32Array(to.length).fill(-1);
  }

  match(): Int32Array {
    const paths = new EditPaths(this.from, this.to, this.matches);
    const open: Range[] = [{ from: 0, fromEnd: this.from.length, to: 0, toEnd: this.to.length }];
    let looked = 0;
    for (let range = open.pop(); range && looked + paths.looked < BUDGET; range = open.pop()) {
      this.trim(range);
      if (range.from === range.fromEnd || range.to === range.toEnd) continue;
      looked += range.fromEnd - range.from + range.toEnd - range.to;
      const anchors = this.anchorsOf(range);
      for (const part of anchors.length > 0 ? this.between(range, anchors) : paths.follow(range)) open.push(part);
    }
    return this.matches;
  }

  /** Matches what is the same at both ends. */
  private trim(range: Range): void {
    const { from, to, matches } = this;
    while (range.from < range.fromEnd && range.to < range.toEnd && from[range.from] === to[range.to]) {
      matches[range.to++] = range.from++;
    }
    while (range.from < range.fromEnd && range.to < range.toEnd && from[range.fromEnd - 1] === to[range.toEnd - 1]) {
      matches[--range.toEnd] = --range.fromEnd;
    }
  }

  /** Pairs of units that occur once on each side; the most that stand in the same order. */
  private anchorsOf(range: Range): { from: number; to: number }[] {
    const places = new Map<number, { from: number; to: number; count: number }>();
    for (let i = range.from; i < range.fromEnd; i++) {
      const unit = this.from[i] as number;
      const place = places.get(unit);
      if (place) place.count += 1;
      else places.set(unit, { from: i, to: -1, count: 1 });
    }
    for (let i = range.to; i < range.toEnd; i++) {
      const place = places.get(this.to[i] as number);
      if (!place) continue;
      if (place.to >= 0) place.count += 1;
      place.to = i;
    }
    // In the order of `from`, as the map was filled.
    const unique = [...places.values()].filter(({ to, count }) => to >= 0 && count === 1);
    return longestRising(unique.map((place) => place.to)).map((index) => unique[index] as { from: number; to: number });
  }

  private between(range: Range, anchors: { from: number; to: number }[]): Range[] {
    const ranges: Range[] = [];
    let { from, to } = range;
    for (const anchor of anchors) {
      this.matches[anchor.to] = anchor.from;
      ranges.push({ from, fromEnd: anchor.from, to, toEnd: anchor.to });
      from = anchor.from + 1;
      to = anchor.to + 1;
    }
    ranges.push({ from, fromEnd: range.fromEnd, to, toEnd: range.toEnd });
    return ranges;
  }
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
