import type { Colour, Paint } from './colours.js';
import { fit, oneLine, padEnd, widthOf } from './text-width.js';

export interface Column<T> {
  title: string;
  value: (row: T) => string;
  colour?: (row: T) => Colour | null;
  /** Takes what width is left. One column of a table. */
  flexible?: boolean;
  /** Left out of a narrow terminal, the highest number first. */
  optional?: number;
}

const GAP = 2;
const NARROWEST_FLEXIBLE = 20;

/** @param width of the terminal; null shows everything in full, for a file or another program */
export function tableOf<T>(rows: readonly T[], columns: readonly Column<T>[], width: number | null, paint: Paint) {
  const all = columns.map((column) => ({ column, cells: rows.map((row) => oneLine(column.value(row))) }));
  const measured = all.map(({ column, cells }) => ({
    column,
    cells,
    width: Math.max(widthOf(column.title), ...cells.map(widthOf)),
  }));
  const shown = width === null ? measured : fitted(measured, width);
  const line = (cells: string[]) => cells.join(' '.repeat(GAP)).trimEnd();
  const title = line(shown.map((part) => paint('dim', padEnd(fit(part.column.title, part.width), part.width))));
  const body = rows.map((row, index) =>
    line(
      shown.map(({ column, cells, width: columnWidth }, place) => {
        const cell = fit(cells[index] ?? '', columnWidth);
        // The last one is not padded: a line that is full would wrap.
        const padded = place === shown.length - 1 ? cell : padEnd(cell, columnWidth);
        const colour = column.colour?.(row);
        return colour ? paint(colour, padded) : padded;
      }),
    ),
  );
  return [title, ...body].join('\n');
}

interface Measured<T> {
  column: Column<T>;
  cells: string[];
  width: number;
}

function fitted<T>(columns: Measured<T>[], width: number): Measured<T>[] {
  const fixed = columns.filter(({ column }) => !column.flexible).reduce((sum, { width: own }) => sum + own, 0);
  const rest = width - fixed - GAP * (columns.length - 1);
  const flexible = columns.find(({ column }) => column.flexible);
  const needed = flexible ? Math.min(flexible.width, NARROWEST_FLEXIBLE) : 0;
  const droppable = columns.filter(({ column }) => column.optional !== undefined);
  const next = droppable.toSorted((a, b) => (b.column.optional ?? 0) - (a.column.optional ?? 0))[0];
  if (rest < needed && next) {
    return fitted(
      columns.filter((column) => column !== next),
      width,
    );
  }
  return columns.map((part) =>
    part === flexible ? { ...part, width: Math.max(Math.min(part.width, rest), Math.min(needed, part.width)) } : part,
  );
}
