/** A stretch of both lists, of which the ends are not included. */
export interface Range {
  from: number;
  fromEnd: number;
  to: number;
  toEnd: number;
}

/** Insertions and deletions that one path may have. */
const MAX_EDITS = 128;
/** Entries of `reached`, with one at each end that is read and never written. */
const WIDTH = 2 * MAX_EDITS + 3;
const MIDDLE = MAX_EDITS + 1;

/**
 * Finds the path with the fewest insertions and deletions (Myers, An O(ND) Difference Algorithm, 1986). A range with more
 * of them is taken in steps: the path that got furthest is kept, and the next one begins where it ended.
 */
export class EditPaths {
  /** Units compared so far. */
  looked = 0;
  /** On each diagonal `x - y`, how far (x) a path with a number of edits gets; a row for each number of edits. */
  private readonly rows = new Int32Array((MAX_EDITS + 1) * WIDTH);

  constructor(
    private readonly from: Int32Array,
    private readonly to: Int32Array,
    private readonly matches: Int32Array,
  ) {}

  /** Notes the matches on the path. @returns the range that is left behind its end, if any */
  follow(range: Range): Range[] {
    const { x, y, edits } = this.search(range);
    this.note(range, x, y, edits);
    const rest = { ...range, from: range.from + x, to: range.to + y };
    return rest.from < rest.fromEnd && rest.to < rest.toEnd ? [rest] : [];
  }

  private search(range: Range): { x: number; y: number; edits: number } {
    const [width, height] = [range.fromEnd - range.from, range.toEnd - range.to];
    const reached = new Int32Array(WIDTH);
    let furthest = { x: 0, y: 0, edits: 0 };
    const end = width + height;
    for (let edits = 0; edits <= MAX_EDITS && furthest.x + furthest.y < end; edits++) {
      for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
        const x = this.slide(range, edits === 0 ? 0 : stepTo(reached, 0, diagonal, edits), diagonal);
        const y = x - diagonal;
        reached[MIDDLE + diagonal] = x;
        const isInside = x <= width && y <= height;
        if (isInside && x + y > furthest.x + furthest.y) furthest = { x, y, edits };
      }
      this.rows.set(reached, edits * WIDTH);
      this.looked += edits;
    }
    return furthest;
  }

  /** Goes along the diagonal while units are the same. */
  private slide(range: Range, start: number, diagonal: number): number {
    let x = start;
    let [i, j] = [range.from + x, range.to + x - diagonal];
    while (i < range.fromEnd && j < range.toEnd && this.from[i] === this.to[j]) {
      i += 1;
      j += 1;
      x += 1;
    }
    this.looked += x - start;
    return x;
  }

  /** Goes back from the end of a path to its beginning. */
  private note(range: Range, endX: number, endY: number, edits: number): void {
    let [x, y] = [endX, endY];
    for (let left = edits; left >= 0; left--) {
      const diagonal = x - y;
      const row = (left - 1) * WIDTH;
      const beforeX = left === 0 ? 0 : stepTo(this.rows, row, diagonal, left);
      while (x > beforeX && y > beforeX - diagonal) this.matches[range.to + --y] = range.from + --x;
      if (left === 0) return;
      const deletion = isDeletion(this.rows, row, diagonal, left);
      x = deletion ? beforeX - 1 : beforeX;
      y = deletion ? x - diagonal + 1 : x - diagonal - 1;
    }
  }
}

/** Whether the best way onto a diagonal is from the one below it: a unit of `from` is left out. */
function isDeletion(rows: Int32Array, row: number, diagonal: number, edits: number): boolean {
  const at = row + MIDDLE + diagonal;
  return diagonal === edits || (diagonal !== -edits && (rows[at - 1] as number) >= (rows[at + 1] as number));
}

/** Where a path with one more edit enters a diagonal. */
function stepTo(rows: Int32Array, row: number, diagonal: number, edits: number): number {
  const at = row + MIDDLE + diagonal;
  return isDeletion(rows, row, diagonal, edits) ? (rows[at - 1] as number) + 1 : (rows[at + 1] as number);
}
